#include "drivers/cpu/cpu_timer.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/thread_pool.h"
#include "codegen/object/loader.h"
#include "drivers/cpu/cpu_device.h"

namespace tg::drivers {
namespace {

using Clock = std::chrono::steady_clock;
using KernelFunction = void(void* const* buffers, const int64_t* vars, int64_t core_id);

double Since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

// What goes over the socket: a request, then name_size and object_size bytes; back a reply, then
// error_size bytes.
struct Request {
  uint64_t name_size;
  uint64_t object_size;
  int32_t parts;
  double cutoff;
};
struct Reply {
  double seconds;
  uint64_t error_size;  // not 0: the object did not load
};
constexpr uint64_t kMaxErrorSize = 4096;

// The time of a candidate that is slower than the cutoff.
constexpr double kTooSlow = std::numeric_limits<double>::infinity();
// Seconds that a first run may take longer than others.
constexpr double kCold = 300e-6;
// Runs that are given up before a candidate is.
constexpr int kTries = 2;
// Parts for each thread from which on a few of them are tried first.
constexpr int kManyRounds = 4;
// A first run beyond this part of the cutoff is not repeated.
constexpr double kHopeless = 0.4;
// Seconds from which on a limit is none; also keeps durations from overflowing.
constexpr double kLongest = 1e6;

// A worker's memory and variables.
struct Arguments {
  std::vector<lower::ProgramParam> params;
  std::vector<int64_t> vars;
};

bool SameArguments(const Arguments& a, const Arguments& b) {
  return a.vars == b.vars &&
         std::equal(a.params.begin(), a.params.end(), b.params.begin(), b.params.end(),
                    [](const lower::ProgramParam& x, const lower::ProgramParam& y) {
                      return x.dtype == y.dtype && x.size == y.size;
                    });
}

// Calls a kernel that can be left at any moment: it owns nothing and takes no locks, so a signal
// handler may jump out of it.
namespace interruptible_part {

constinit thread_local sigjmp_buf* volatile way_out = nullptr;

void Leave(int) {
  sigjmp_buf* const out = way_out;
  if (out == nullptr) return;  // the kernel has just returned
  way_out = nullptr;
  siglongjmp(*out, 1);
}

// A clock that sends SIGALRM to the thread that made it.
class ThreadAlarm {
 public:
  ThreadAlarm() {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGALRM;
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0) _exit(1);
  }
  ~ThreadAlarm() { timer_delete(timer_); }
  ThreadAlarm(const ThreadAlarm&) = delete;
  ThreadAlarm& operator=(const ThreadAlarm&) = delete;

  // At a time of steady_clock, which is CLOCK_MONOTONIC; at its epoch: never.
  void Set(Clock::time_point when) {
    const auto ns = std::chrono::nanoseconds(when.time_since_epoch()).count();
    const itimerspec spec{.it_interval = {},
                          .it_value = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}};
    timer_settime(timer_, TIMER_ABSTIME, &spec, nullptr);
  }

 private:
  timer_t timer_ = {};
};

// False where the kernel was left at `deadline`.
bool Run(Clock::time_point deadline, KernelFunction* function, void* const* buffers,
         const int64_t* vars, int64_t core) {
  static thread_local ThreadAlarm alarm;
  sigjmp_buf out;
  if (sigsetjmp(out, /*savesigs=*/1) != 0) return false;
  way_out = &out;
  alarm.Set(deadline);
  function(buffers, vars, core);
  way_out = nullptr;
  alarm.Set(Clock::time_point());
  return true;
}

}  // namespace interruptible_part

// The worker's side. Nothing here returns to the caller of fork.
class Worker {
 public:
  static constexpr int kNoMemory = 77;  // exit status

  Worker(int fd, const Arguments& arguments, const CpuTimerOptions& options)
      : fd_(fd), options_(options), vars_(arguments.vars), pool_(options.threads) {
    for (const lower::ProgramParam& p : arguments.params) buffers_.push_back(Allocate(p));
  }

  [[noreturn]] void Serve() {
    for (;;) {
      Request request;
      if (!Read(&request, sizeof request)) _exit(0);
      std::string name(request.name_size, '\0'), object(request.object_size, '\0');
      if (!Read(name.data(), name.size()) || !Read(object.data(), object.size())) _exit(0);
      std::string error;
      Reply reply{.seconds = Measure(name, object, request, error), .error_size = 0};
      error.resize(std::min<size_t>(error.size(), kMaxErrorSize));
      reply.error_size = error.size();
      if (!Write(&reply, sizeof reply) || !Write(error.data(), error.size())) _exit(0);
    }
  }

 private:
  double Measure(const std::string& name, const std::string& bytes, const Request& request,
                 std::string& error) {
    const auto object = object::LoadedObject::Load(bytes, FindCpuFunction);
    const absl::StatusOr<void*> symbol =
        object.ok() ? object->Symbol(name) : absl::StatusOr<void*>(object.status());
    if (!symbol.ok()) {
      error = std::string(symbol.status().message());
      return 0;
    }
    auto* const function = reinterpret_cast<KernelFunction*>(*symbol);
    const double cutoff = request.cutoff;
    // Where there are many parts some of them say whether the whole would take too long.
    const int few = options_.threads;
    if (request.parts >= kManyRounds * few &&
        !Try(function, few, cutoff * few / request.parts).has_value()) {
      return kTooSlow;
    }
    const Clock::time_point start = Clock::now();
    const std::optional<double> first = Try(function, request.parts, cutoff);
    if (!first.has_value()) return kTooSlow;
    double best = *first;
    for (int run = 0; run < options_.runs && (run == 0 || Since(start) < options_.enough); ++run) {
      if (best > kCold && best > kHopeless * cutoff) break;
      best = std::min(best, RunOnce(function, request.parts));
    }
    return best > cutoff ? kTooSlow : best;
  }

  // RunWithin, until it is done in time. The first run finds memory, caches and branch predictors
  // cold; and others may have had the cores.
  std::optional<double> Try(KernelFunction* function, int parts, double limit) {
    for (int i = 0; i < kTries; ++i) {
      const std::optional<double> seconds = RunWithin(function, parts, limit + kCold);
      if (seconds.has_value()) return seconds;
    }
    return std::nullopt;
  }

  // Runs parts 0 to `parts` - 1. Nothing where they take longer than `limit` seconds: then they
  // are left where they are at that moment.
  std::optional<double> RunWithin(KernelFunction* function, int parts, double limit) {
    if (!(limit < kLongest)) return RunOnce(function, parts);
    const Clock::time_point start = Clock::now();
    const Clock::time_point deadline =
        start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit));
    std::atomic<bool> late{false};
    auto part = [&](int core) {
      if (late ||
          !interruptible_part::Run(deadline, function, buffers_.data(), vars_.data(), core)) {
        late = true;
      }
    };
    if (parts == 1) {
      part(0);
    } else {
      pool_.ParallelFor(parts, part);
    }
    if (late) return std::nullopt;
    return Since(start);
  }

  double RunOnce(KernelFunction* function, int parts) {
    const Clock::time_point start = Clock::now();
    if (parts == 1) {
      function(buffers_.data(), vars_.data(), 0);
    } else {
      pool_.ParallelFor(parts, [&](int core) { function(buffers_.data(), vars_.data(), core); });
    }
    return Since(start);
  }

  // The end of the buffer is at the upper guard, but for at most a cache line.
  static void* Allocate(const lower::ProgramParam& param) {
    constexpr size_t kGuard = size_t{1} << 21;  // also keeps huge pages possible
    const size_t bytes = static_cast<size_t>(param.size) * static_cast<size_t>(param.dtype.bytes());
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t room = (bytes + page - 1) / page * page;
    void* const map = mmap(nullptr, room + 2 * kGuard, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) _exit(kNoMemory);
    char* const first = static_cast<char*>(map) + kGuard;
    if (room != 0 && mprotect(first, room, PROT_READ | PROT_WRITE) != 0) _exit(kNoMemory);
    if (room != 0) madvise(first, room, MADV_HUGEPAGE);
    char* const data = first + (room - bytes) / 64 * 64;
    Fill(data, param, bytes);
    return data;
  }

  static void Fill(char* data, const lower::ProgramParam& param, size_t bytes) {
    std::memset(data, 0, bytes);  // also makes the pages
    if (param.dtype == ir::kFloat32) {
      auto* const x = reinterpret_cast<float*>(data);
      for (int64_t i = 0; i < param.size; ++i) x[i] = static_cast<float>(i % 127) / 127;
    } else if (param.dtype == ir::kFloat64) {
      auto* const x = reinterpret_cast<double*>(data);
      for (int64_t i = 0; i < param.size; ++i) x[i] = static_cast<double>(i % 127) / 127;
    }
  }

  bool Read(void* to, size_t size) const {
    for (char* p = static_cast<char*>(to); size != 0;) {
      const ssize_t n = read(fd_, p, size);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      p += n;
      size -= static_cast<size_t>(n);
    }
    return true;
  }

  bool Write(const void* from, size_t size) const {
    for (const char* p = static_cast<const char*>(from); size != 0;) {
      const ssize_t n = send(fd_, p, size, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      p += n;
      size -= static_cast<size_t>(n);
    }
    return true;
  }

  const int fd_;
  const CpuTimerOptions options_;
  const std::vector<int64_t> vars_;
  std::vector<void*> buffers_;
  base::ThreadPool pool_;
};

class CpuTimer : public search::Timer {
 public:
  explicit CpuTimer(const CpuTimerOptions& options) : options_(options) {}
  ~CpuTimer() override { Stop(); }

  absl::StatusOr<double> Time(const lower::LinearProgram& program, absl::string_view object,
                              double cutoff) override {
    Arguments arguments{.params = program.params, .vars = {}};
    for (const ir::UOp& v : program.variables) arguments.vars.push_back(v.vmax());
    if (pid_ != 0 && !SameArguments(arguments, arguments_)) Stop();
    arguments_ = std::move(arguments);
    const Request request{.name_size = program.name.size(),
                          .object_size = object.size(),
                          .parts = program.threads,
                          .cutoff = cutoff};
    // A worker that waits for a request may have been ended by others: then a new one gets it.
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (pid_ == 0) {
        if (absl::Status s = Start(); !s.ok()) return s;
      }
      deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(Limit(cutoff)));
      if (Send(&request, sizeof request) && Send(program.name.data(), program.name.size()) &&
          Send(object.data(), object.size())) {
        return Receive();
      }
      Stop();
    }
    return absl::ResourceExhaustedError("the process that times kernels ends when it starts");
  }

 private:
  double Limit(double cutoff) const {
    return std::min(options_.limit, options_.grace + 3 * cutoff);
  }

  absl::Status Start() {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
      return absl::ResourceExhaustedError(absl::StrCat("socketpair: ", std::strerror(errno)));
    }
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) RunWorker(fds[1], parent);
    close(fds[1]);
    if (pid < 0) {
      close(fds[0]);
      return absl::ResourceExhaustedError(absl::StrCat("fork: ", std::strerror(errno)));
    }
    pid_ = pid;
    fd_ = fds[0];
    // The time that it takes to make the buffers is not the first candidate's.
    deadline_ = Clock::now() + std::chrono::minutes(1);
    char ready;
    if (ReceiveBytes(&ready, 1) == Outcome::kDone) return absl::OkStatus();
    const int status = Stop();
    if (WIFEXITED(status) && WEXITSTATUS(status) == Worker::kNoMemory) {
      return absl::ResourceExhaustedError("no memory for the buffers of a kernel that is timed");
    }
    return absl::ResourceExhaustedError("the process that times kernels does not start");
  }

  [[noreturn]] void RunWorker(int fd, pid_t parent) const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    // Ctrl-C reaches every process of the terminal: the parent decides. A crash is news for the
    // parent alone: no handler of its own, no core file.
    signal(SIGINT, SIG_IGN);
    for (int s : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGTERM}) signal(s, SIG_DFL);
    struct sigaction leave {};
    leave.sa_handler = interruptible_part::Leave;
    sigaction(SIGALRM, &leave, nullptr);
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    setrlimit(RLIMIT_CORE, &none);
    // Others wait for the ends of pipes that the parent has open.
    if (fd != 3) dup2(fd, 3);
    close_range(4, ~0U, 0);
    Worker worker(3, arguments_, options_);
    if (send(3, "r", 1, MSG_NOSIGNAL) != 1) _exit(0);
    worker.Serve();
  }

  // Ends the worker; its wait status.
  int Stop() {
    int status = 0;
    if (pid_ == 0) return status;
    close(fd_);
    kill(pid_, SIGKILL);
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

  absl::StatusOr<double> Receive() {
    Reply reply;
    std::string error;
    Outcome outcome = ReceiveBytes(&reply, sizeof reply);
    if (outcome == Outcome::kDone && reply.error_size <= kMaxErrorSize) {
      error.resize(reply.error_size);
      outcome = ReceiveBytes(error.data(), error.size());
      if (outcome == Outcome::kDone && !error.empty()) {
        return absl::InvalidArgumentError(absl::StrCat("kernel does not load: ", error));
      }
      if (outcome == Outcome::kDone && reply.seconds >= 0) {
        return reply.seconds;
      }
    }
    const bool crashed = outcome == Outcome::kClosed;
    // A process that crashes closes its end a moment before its signal can be read.
    siginfo_t info{};
    while (crashed && info.si_pid == 0 && Clock::now() < deadline_) {
      if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG) != 0) break;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    const int status = Stop();
    if (outcome == Outcome::kLate) {
      return absl::DeadlineExceededError("kernel did not end in time and was killed");
    }
    return absl::AbortedError(
        WIFSIGNALED(status)
            ? absl::StrCat("kernel crashed: ", strsignal(WTERMSIG(status)))
            : std::string("kernel ended its process or damaged the memory around it"));
  }

  enum class Outcome { kDone, kLate, kClosed };

  // Waits for the socket until the deadline.
  Outcome Wait(short events) const {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
      if (left.count() <= 0) return Outcome::kLate;
      pollfd p{.fd = fd_, .events = events, .revents = 0};
      const int64_t ms = std::min<int64_t>(left.count(), 60000);
      if (poll(&p, 1, static_cast<int>(ms)) > 0) return Outcome::kDone;
    }
  }

  Outcome ReceiveBytes(void* to, size_t size) const {
    for (size_t got = 0; got < size;) {
      if (const Outcome o = Wait(POLLIN); o != Outcome::kDone) return o;
      const ssize_t n = recv(fd_, static_cast<char*>(to) + got, size - got, MSG_DONTWAIT);
      if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (n <= 0) return Outcome::kClosed;
      got += static_cast<size_t>(n);
    }
    return Outcome::kDone;
  }

  bool Send(const void* from, size_t size) const {
    for (size_t sent = 0; sent < size;) {
      if (Wait(POLLOUT) != Outcome::kDone) return false;
      const ssize_t n = send(fd_, static_cast<const char*>(from) + sent, size - sent,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (n <= 0) return false;
      sent += static_cast<size_t>(n);
    }
    return true;
  }

  const CpuTimerOptions options_;
  Arguments arguments_;
  pid_t pid_ = 0;
  int fd_ = -1;
  Clock::time_point deadline_;
};

}  // namespace

std::unique_ptr<search::Timer> MakeCpuTimer(const CpuTimerOptions& options) {
  return std::make_unique<CpuTimer>(options);
}

}  // namespace tg::drivers
