#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tg::base::internal {

FatalMessage::FatalMessage(const char* file, int line, const char* what) {
  stream_ << file << ":" << line << ": " << what << " ";
}

FatalMessage::FatalMessage(const char* file, int line, const std::string& what)
    : FatalMessage(file, line, what.c_str()) {}

FatalMessage::~FatalMessage() {
  std::string text = stream_.str();
  while (!text.empty() && text.back() == ' ') text.pop_back();
  text += '\n';
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  std::abort();
}

}  // namespace tg::base::internal
