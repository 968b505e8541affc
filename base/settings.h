#ifndef TG_BASE_SETTINGS_H_
#define TG_BASE_SETTINGS_H_

// Every setting of tg: read from the environment once, overridable in a scope.
//
//   if (Get(kDebug) >= 2) ...                  // int
//   const std::string& dev = Get(kDev);        // string; the reference stays valid for ever
//   { Scoped<int> quiet(kDebug, 0); ... }      // for this thread, until the end of the block
//   SetProcessValue(kCpuCount, 2);             // a command line flag: all threads, from now on
//
// A setting is parsed when it is first read; a value that it does not accept throws tg::UsageError
// with its name and the accepted form. Tools call CheckEnvironment() first thing.
//
// Reading costs two loads. Everything here is thread safe; a scope belongs to the thread that
// opened it. Work handed to another thread takes its settings along with Overrides and
// ScopedOverrides.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// The table: INT(constant, name, default, least, greatest, doc)
//            STRING(constant, name, default, accepted values separated by | or "" for any, doc)
// A default of kComputed is found out on the machine, as the doc says.
#define TG_SETTINGS(INT, STRING)                                                                   \
  STRING(kDev, "DEV", "", "",                                                                      \
         "default device: DEVICE[:RENDERER[:ARCH]], as CPU, CPU:CLANG, INTERP, NULL; empty: CPU")  \
  INT(kDebug, "DEBUG", 0, 0, 1000000,                                                              \
      "prints 1 devices and schedules, 2 kernels with times, 3 buffers and opts, 4 source, "       \
      "5 the graph, 6 linear uops, 7 disassembly")                                                 \
  INT(kBeam, "BEAM", 0, 0, 1000, "width of the kernel search; 0: heuristics only")                 \
  INT(kBeamPadTo, "BEAM_PADTO", 0, 0, 1, "1: searches pad axes, too")                              \
  INT(kBeamUpcastMax, "BEAM_UPCAST_MAX", 256, 1, 65536, "most expanded iterations of a candidate") \
  INT(kBeamLocalMax, "BEAM_LOCAL_MAX", 1024, 1, 65536, "most work items in a candidate's group")   \
  INT(kBeamUopsMax, "BEAM_UOPS_MAX", 3000, 1, 1000000, "most instructions of a candidate")         \
  INT(kBeamTimeoutSec, "BEAM_TIMEOUT_SEC", 10, 1, 3600,                                            \
      "seconds after which a candidate that is measured is stopped")                               \
  INT(kBeamDebug, "BEAM_DEBUG", 0, 0, 2, "1: prints results of searches; 2: how they got there")   \
  INT(kNoOpt, "NOOPT", 0, 0, 1, "1: kernels are lowered as they are, without any optimization")    \
  INT(kJit, "JIT", 1, 0, 2, "0: a Jit runs its function each time; 2: capture without batching")   \
  INT(kJitBatchSize, "JIT_BATCH_SIZE", 32, 0, 1000000,                                             \
      "kernels in the first batch of a captured graph; doubles from batch to batch; 0: no limit")  \
  INT(kCapturing, "CAPTURING", 1, 0, 1, "0: a Jit does not capture what runs in this scope")       \
  INT(kTraining, "TRAINING", 0, 0, 1, "1: dropout drops and batch normalization updates")          \
  INT(kCpuCount, "CPU_COUNT", kComputed, 1, 4096,                                                  \
      "cores that the CPU device splits kernels over; default: affinity and cgroup quota")         \
  INT(kThreads, "THREADS", 1, 0, 1, "0: kernels run on the calling thread alone")                  \
  INT(kParallel, "PARALLEL", kComputed, 0, 4096,                                                   \
      "threads that compile kernels; 0: the calling thread; default: affinity and cgroup quota")   \
  STRING(kDefaultFloat, "DEFAULT_FLOAT", "float32",                                                \
         "float32|float16|bfloat16|float64|float|half|double",                                     \
         "dtype of floating point literals and of tensors made without one")                       \
  STRING(kDefaultInt, "DEFAULT_INT", "int32", "int32|int64|int16|int8|int|long|short|char",        \
         "dtype of integer literals")                                                              \
  STRING(kSumDtype, "SUM_DTYPE", "float32", "float32|float16|bfloat16|float64|float|half|double",  \
         "least dtype in which sums of narrower floats accumulate")                                \
  INT(kSpec, "SPEC", 0, 0, 2, "1: graphs are verified between passes; 2: every node made")         \
  INT(kScache, "SCACHE", 1, 0, 1, "0: every graph is scheduled anew")                              \
  INT(kCcache, "CCACHE", 1, 0, 1, "0: compiled programs are not kept on disk")                     \
  INT(kCacheLevel, "CACHELEVEL", 2, 0, 2, "the disk cache keeps 0 nothing, 1 searches, 2 all")     \
  STRING(kCacheDb, "CACHEDB", "", "",                                                              \
         "file of the disk cache; empty: $XDG_CACHE_HOME/tg/cache.db, or ~/.cache/tg/cache.db")    \
  INT(kIgnoreBeamCache, "IGNORE_BEAM_CACHE", 0, 0, 1, "1: searches start afresh")                  \
  INT(kNoMemoryPlanner, "NO_MEMORY_PLANNER", 0, 0, 1, "1: every intermediate buffer is its own")   \
  INT(kLru, "LRU", 1, 0, 1, "0: freed device memory goes back at once instead of into the pool")   \
  INT(kSplitReduceOp, "SPLIT_REDUCEOP", 1, 0, 1, "0: a large reduction stays one kernel")          \
  INT(kReduceOpSplitThreshold, "REDUCEOP_SPLIT_THRESHOLD", 32768, 1,                               \
      std::numeric_limits<int>::max(),                                                             \
      "a reduction of this many times its output's elements is split in two kernels")              \
  INT(kReduceOpSplitSize, "REDUCEOP_SPLIT_SIZE", 22, 1, 40,                                        \
      "log2 of the most elements that the first of two reductions may leave")                      \
  INT(kCheckOob, "CHECK_OOB", 0, 0, 1, "1: proves that every index of a kernel is in bounds")      \
  INT(kTranscendental, "TRANSCENDENTAL", 1, 0, 2,                                                  \
      "sin, exp2, log2: 0 the target's, 1 own where the target has none, 2 own everywhere")        \
  INT(kDisableFastIdiv, "DISABLE_FAST_IDIV", 1, 0, 1,                                              \
      "0: division by a constant becomes a multiplication and a shift in our own code")            \
  INT(kTc, "TC", 1, 0, 2, "tensor cores: 0 off, 1 on, 2 their shape without the instruction")      \
  INT(kNoLocals, "NOLOCALS", 0, 0, 1, "1: kernels without local memory and local axes")            \
  INT(kMaxKernelBuffers, "MAX_KERNEL_BUFFERS", 0, 0, 1000000,                                      \
      "kernels with more buffers than this are split; 0: the device's limit")                      \
  INT(kProfile, "PROFILE", 0, 0, 1, "1: times of kernels and copies are recorded")                 \
  INT(kNullAllowCopyout, "NULL_ALLOW_COPYOUT", 0, 0, 1, "1: reading from device NULL gives zeros") \
  STRING(kCc, "CC", "clang-22", "", "C compiler of CPU:CLANG")                                     \
  STRING(kRemote, "REMOTE", "", "",                                                                \
         "HOST[:PORT],...: PCI devices are those that remote_pci serves there, not this machine's")\
  INT(kRemoteTimeout, "REMOTE_TIMEOUT", 3, 1, 3600, "seconds to wait for a connection to REMOTE")  \
  INT(kNoColor, "NO_COLOR", 0, 0, 1, "1: no colours on terminals (any text but 0 counts as 1)")

namespace tg::base {

enum class SettingId : int {
#define TG_SETTING_ID(constant, ...) constant,
  TG_SETTINGS(TG_SETTING_ID, TG_SETTING_ID)
#undef TG_SETTING_ID
      kCount
};

inline constexpr int kSettingCount = static_cast<int>(SettingId::kCount);

// Names a setting of type T, int or std::string.
template <typename T>
struct Setting {
  SettingId id;
};

#define TG_INT_SETTING(constant, ...) inline constexpr Setting<int> constant{SettingId::constant};
#define TG_STRING_SETTING(constant, ...) \
  inline constexpr Setting<std::string> constant{SettingId::constant};
TG_SETTINGS(TG_INT_SETTING, TG_STRING_SETTING)
#undef TG_INT_SETTING
#undef TG_STRING_SETTING

namespace internal {

// A value is an int or the address of an interned string; kUnset stands for none.
inline constexpr int64_t kUnset = std::numeric_limits<int64_t>::min();

struct SettingSlots {
  std::array<int64_t, kSettingCount> value;
  constexpr SettingSlots() : value() { value.fill(kUnset); }
};

struct ProcessSlot : std::atomic<int64_t> {
  constexpr ProcessSlot() : std::atomic<int64_t>(kUnset) {}
  using std::atomic<int64_t>::operator=;
};

struct ProcessSlots {
  std::array<ProcessSlot, kSettingCount> value;
};

extern constinit thread_local SettingSlots setting_overrides;
extern constinit ProcessSlots process_settings;

// Parses the setting from the environment and keeps it. Throws UsageError.
int64_t LoadSetting(SettingId id);

// Checks and encodes a value given by the program. Throws UsageError.
int64_t EncodeSetting(SettingId id, int value);
int64_t EncodeSetting(SettingId id, absl::string_view value);

inline int64_t ReadSetting(SettingId id) {
  const auto index = static_cast<size_t>(id);
  int64_t value = setting_overrides.value[index];
  if (value != kUnset) return value;
  value = process_settings.value[index].load(std::memory_order_acquire);
  if (value != kUnset) [[likely]]
    return value;
  return LoadSetting(id);
}

}  // namespace internal

inline int Get(Setting<int> setting) { return static_cast<int>(internal::ReadSetting(setting.id)); }

inline const std::string& Get(Setting<std::string> setting) {
  return *reinterpret_cast<const std::string*>(internal::ReadSetting(setting.id));
}

// Overrides a setting for the calling thread until destroyed, on the same thread, in reverse order
// of construction. Throws UsageError when the setting does not accept the value.
template <typename T>
class Scoped {
 public:
  Scoped(Setting<T> setting, const T& value)
      : slot_(internal::setting_overrides.value[static_cast<size_t>(setting.id)]), before_(slot_) {
    slot_ = internal::EncodeSetting(setting.id, value);
  }
  ~Scoped() { slot_ = before_; }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  int64_t& slot_;
  const int64_t before_;
};
Scoped(Setting<std::string>, const char*)->Scoped<std::string>;

// Changes a setting for all threads, as a command line flag does. Scopes still win.
void SetProcessValue(Setting<int> setting, int value);
void SetProcessValue(Setting<std::string> setting, absl::string_view value);

// The calling thread's scopes as a value, to carry them to a thread that works for it.
class Overrides {
 public:
  static Overrides OfThisThread() { return Overrides(internal::setting_overrides); }

 private:
  friend class ScopedOverrides;
  explicit Overrides(const internal::SettingSlots& slots) : slots_(slots) {}
  internal::SettingSlots slots_;
};

// Replaces the calling thread's scopes by those of another thread until destroyed.
class ScopedOverrides {
 public:
  explicit ScopedOverrides(const Overrides& overrides) : before_(internal::setting_overrides) {
    internal::setting_overrides = overrides.slots_;
  }
  ~ScopedOverrides() { internal::setting_overrides = before_; }
  ScopedOverrides(const ScopedOverrides&) = delete;
  ScopedOverrides& operator=(const ScopedOverrides&) = delete;

 private:
  const internal::SettingSlots before_;
};

// One row of the table, as text.
struct SettingInfo {
  const char* name;
  std::string accepted;       // "an integer from 0 to 2", "one of a, b", "text"
  std::string default_value;  // as one would write it in the environment
  std::string value;          // on this thread now
  const char* doc;
};

// All settings in the table's order. Throws UsageError like reading each of them.
std::vector<SettingInfo> AllSettings();

// Parses every setting that the environment names. Throws UsageError for the first that is wrong.
void CheckEnvironment();

}  // namespace tg::base

#endif  // TG_BASE_SETTINGS_H_
