// The computations whose kernels make up the corpus in testdata/kernels.
#ifndef TG_TESTS_KERNEL_CORPUS_PROGRAMS_H_
#define TG_TESTS_KERNEL_CORPUS_PROGRAMS_H_

#include <functional>
#include <string>
#include <vector>

#include "tg/tensor/tensor.h"

namespace tg::testing {

struct CorpusProgram {
  std::string name;  // a C identifier
  std::function<std::vector<Tensor>()> results;
};

// Programs of one kind; a file of the corpus.
struct CorpusGroup {
  std::string name;
  std::string what;  // a line for people
  std::vector<CorpusProgram> programs;
};

// Small shapes, many of them odd: an interpreter runs each of their kernels in milliseconds.
std::vector<CorpusGroup> SmallPrograms();
// Shapes of real networks, for measurements: a transformer's products and row-wise kernels, the
// convolutions of ResNet-50, memory-bound kernels beyond the caches.
CorpusGroup LargePrograms();

}  // namespace tg::testing

#endif  // TG_TESTS_KERNEL_CORPUS_PROGRAMS_H_
