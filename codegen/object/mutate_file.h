// Damaged variants of a file, for tests of parsers.
#ifndef TG_CODEGEN_OBJECT_MUTATE_FILE_H_
#define TG_CODEGEN_OBJECT_MUTATE_FILE_H_

#include <cstdint>
#include <random>
#include <string>

#include "absl/strings/string_view.h"

namespace tg::object {

// The whole file; aborts when it cannot be read. `path` as in a test's runfiles.
std::string ReadFileOrDie(const std::string& path);

// Changes one to eight fields of one, two, four or eight bytes to values that parsers trip over
// (0, all ones, powers of two, the file's size and thereabouts, random).
std::string Mutate(absl::string_view bytes, std::mt19937_64& random);

}  // namespace tg::object

#endif  // TG_CODEGEN_OBJECT_MUTATE_FILE_H_
