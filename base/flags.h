#ifndef TG_BASE_FLAGS_H_
#define TG_BASE_FLAGS_H_

// Command lines of tools.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tg::base {

// A table of flags, from which the command line is parsed and --help is printed:
//
//   int steps = 100;
//   bool json = false;
//   std::string data;
//   Flags flags("mnist", "trains a convolutional network on handwritten digits");
//   flags.Add("steps", &steps, "N", "optimizer steps");
//   flags.Add("json", &json, "end with one JSON object");
//   flags.Add("data", &data, "DIR", "folder of IDX files");
//   flags.ParseOrExit(argc, argv);
//
// Takes `--name value`, `--name=value`, `--name` and `--noname` for bools, - for _ in names, `-o
// value` where a name is one letter, and -- before arguments that start with -. The variables'
// values beforehand are the defaults; they must outlive the parsing. Not thread safe.
class Flags {
 public:
  Flags(std::string program, std::string summary)
      : program_(std::move(program)), summary_(std::move(summary)) {}

  void Add(absl::string_view name, bool* value, absl::string_view doc);
  void Add(absl::string_view name, int* value, absl::string_view placeholder,
           absl::string_view doc);
  void Add(absl::string_view name, int64_t* value, absl::string_view placeholder,
           absl::string_view doc);
  void Add(absl::string_view name, double* value, absl::string_view placeholder,
           absl::string_view doc);
  void Add(absl::string_view name, std::string* value, absl::string_view placeholder,
           absl::string_view doc);

  // The next argument that is no flag. All required ones come before the optional ones.
  void AddArgument(absl::string_view placeholder, std::string* value, absl::string_view doc,
                   bool required = true);
  // All arguments that are left.
  void AddArguments(absl::string_view placeholder, std::vector<std::string>* values,
                    absl::string_view doc);

  // A section of the help text: SetDescription's comes before the flags, the others after them. A
  // blank line starts a paragraph; lines that start with a space are printed as they are.
  void SetDescription(absl::string_view text) { description_ = std::string(text); }
  void AddSection(absl::string_view title, absl::string_view text);

  // Sets the variables. InvalidArgument says what is wrong, for example "unknown flag --stesp; did
  // you mean --steps?"; variables before it are then set. `args` come without the program's name.
  absl::Status Parse(const std::vector<std::string>& args);

  // Whether --help was among the arguments; nothing after it is parsed and nothing is required.
  bool help_wanted() const { return help_wanted_; }

  // The manual page, without a terminal's escape sequences.
  std::string Help() const;

  // Parse for main(): prints the help and exits with 0, or "error: ..." on stderr and exits with 2.
  // Also checks the environment's settings (base/settings.h).
  void ParseOrExit(int argc, char** argv);

 private:
  using Target = std::variant<bool*, int*, int64_t*, double*, std::string*>;
  struct Flag {
    std::string name;
    Target target;
    std::string placeholder;
    std::string doc;
    std::string default_value;
  };
  struct Argument {
    std::string placeholder;
    std::string* value;
    std::string doc;
    bool required;
  };

  void AddFlag(absl::string_view name, Target target, absl::string_view placeholder,
               absl::string_view doc);
  const Flag* Find(absl::string_view name) const;
  absl::Status Unknown(absl::string_view name) const;
  static absl::Status Set(const Flag& flag, absl::string_view text);

  const std::string program_;
  const std::string summary_;
  std::string description_;
  std::vector<Flag> flags_;
  std::vector<Argument> arguments_;
  std::vector<std::string>* rest_ = nullptr;
  std::string rest_placeholder_;
  std::string rest_doc_;
  std::vector<std::pair<std::string, std::string>> sections_;
  bool help_wanted_ = false;
};

}  // namespace tg::base

#endif  // TG_BASE_FLAGS_H_
