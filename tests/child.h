// Runs this test's program again in processes of its own, with other settings.
#ifndef TG_TESTS_CHILD_H_
#define TG_TESTS_CHILD_H_

#include <map>
#include <string>

namespace tg::testing {

struct ChildResult {
  int exit_code = -1;  // or minus the signal
  std::string out;
  std::string err;
};

class Child {
 public:
  // Starts /proc/self/exe with `role` in the environment variable TG_TEST_ROLE, and `environment`
  // in addition to the present one.
  Child(const std::string& role, const std::map<std::string, std::string>& environment);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Once.
  ChildResult Wait();

 private:
  int pid_ = -1;
  int out_ = -1, err_ = -1;
};

// The role that this process was started for; empty in the test itself.
std::string ChildRole();

}  // namespace tg::testing

#endif  // TG_TESTS_CHILD_H_
