// Einstein summation.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "tg/tensor/impl.h"
#include "tg/tensor/tensor.h"

namespace tg {
namespace {

[[noreturn]] void Fail(absl::string_view formula, const std::string& why) {
  throw ShapeError(absl::StrCat("einsum: '", formula, "': ", why));
}

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

Tensor Tensor::Einsum(absl::string_view formula, absl::Span<const Tensor> operands) {
  std::string text = absl::StrReplaceAll(formula, {{" ", ""}});
  std::vector<std::string> sides = absl::StrSplit(text, "->");
  if (sides.size() > 2) Fail(formula, "more than one ->");
  std::vector<std::string> inputs = absl::StrSplit(sides[0], ',');
  if (inputs.size() != operands.size()) {
    Fail(formula, absl::StrCat("names ", inputs.size(), " operands, got ", operands.size()));
  }
  // The axes of "..." get names that no letter has: '0' is the last of them.
  size_t most_extra = 0;
  auto expand = [&](std::string& side, size_t extra) {
    size_t at = side.find("...");
    if (at == std::string::npos) return;
    std::string names;
    for (size_t i = extra; i-- > 0;) names += static_cast<char>('0' + i);
    side.replace(at, 3, names);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool ellipsis = inputs[i].find("...") != std::string::npos;
    size_t letters = std::count_if(inputs[i].begin(), inputs[i].end(), IsLetter);
    auto ndim = static_cast<size_t>(operands[i].ndim());
    if (letters + (ellipsis ? 3 : 0) != inputs[i].size()) Fail(formula, "bad axis name");
    if (ellipsis ? letters > ndim : letters != ndim) {
      Fail(formula,
           absl::StrCat("'", inputs[i], "' for shape ", ir::ToString(operands[i].shape())));
    }
    size_t extra = ellipsis ? ndim - letters : 0;
    if (extra > 10) Fail(formula, "... for more than ten axes");
    most_extra = std::max(most_extra, extra);
    expand(inputs[i], extra);
  }
  // All names: those of "..." first, then in the alphabet's order.
  std::string names;
  for (size_t i = most_extra; i-- > 0;) names += static_cast<char>('0' + i);
  std::string letters;
  for (const std::string& in : inputs) {
    for (char c : in) {
      if (IsLetter(c) && letters.find(c) == std::string::npos) letters += c;
    }
  }
  std::sort(letters.begin(), letters.end());
  names += letters;
  std::string output;
  if (sides.size() == 2) {
    output = sides[1];
    expand(output, most_extra);
  } else {
    // Without an output: the names that appear once.
    for (char c : names) {
      size_t uses = 0;
      for (const std::string& in : inputs) uses += std::count(in.begin(), in.end(), c);
      if (uses == 1 || !IsLetter(c)) output += c;
    }
  }
  for (char c : output) {
    if (names.find(c) == std::string::npos) Fail(formula, "the output has a name of its own");
    if (std::count(output.begin(), output.end(), c) > 1) Fail(formula, "repeated output name");
  }
  Tensor product;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor x = operands[i];
    std::string in = inputs[i];
    for (size_t a = 0; a < in.size(); ++a) {
      for (size_t b = in.find(in[a], a + 1); b != std::string::npos; b = in.find(in[a], a + 1)) {
        // A repeated name: the diagonal, which becomes the last axis.
        x = x.Diagonal(0, static_cast<int>(a), static_cast<int>(b));
        char name = in[a];
        in.erase(b, 1);
        in.erase(a, 1);
        in += name;
      }
    }
    std::vector<int> order(in.size());
    for (size_t a = 0; a < in.size(); ++a) order[a] = static_cast<int>(a);
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return names.find(in[a]) < names.find(in[b]); });
    x = x.Permute(order);
    Shape shape;
    size_t axis = 0;
    for (char c : names) {
      bool has = in.find(c) != std::string::npos;
      shape.push_back(has ? x.shape()[axis] : Sint(1));
      axis += has;
    }
    x = x.Reshape(shape);
    product = product.defined() ? product * x : x;
  }
  std::vector<int> summed;
  std::string kept;
  for (size_t i = 0; i < names.size(); ++i) {
    if (output.find(names[i]) == std::string::npos) {
      summed.push_back(static_cast<int>(i));
    } else {
      kept += names[i];
    }
  }
  Tensor result = summed.empty() ? product : product.Sum(Axes(summed)).Cast(product.dtype());
  std::vector<int> order;
  for (char c : output) order.push_back(static_cast<int>(kept.find(c)));
  return result.Permute(order);
}

}  // namespace tg
