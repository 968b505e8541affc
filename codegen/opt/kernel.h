// Kernel: the loops of a kernel as a list of axes, and the steps (ir::Opt) that change how they
// run.
//
// The axes come sorted by type in the order of ir::AxisType (outermost first), and within a type in
// the order of nesting: first the outputs, then the reductions, then what is expanded in registers.
// A step names an axis by its position in that list at that moment.
//
// SPLIT(axis, amount, type[, top]) divides an axis of size n in an outer part of n / amount and an
// inner of `amount` iterations. The inner part gets the new type; with `top` the outer part has
// `amount` iterations and gets it. A part of size 1 is dropped. The new axis stands directly inside
// of the rest where it has the same type (cache tiling), else last among those of its type.
// PADTO(axis, m) rounds the number of iterations up to a multiple of m; the extra ones touch no
// memory. SWAP(axis, other) exchanges the nesting of two axes of one type (and of one reduction).
// NOLOCALS forbids local axes from then on. TC must be the first step, and is refused: no target
// describes tensor cores yet.
//
// Nothing is rewritten until `Ast` is called, so trying steps is cheap (searches do).
#ifndef TG_CODEGEN_OPT_KERNEL_H_
#define TG_CODEGEN_OPT_KERNEL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/ir/uop.h"
#include "codegen/render/renderer.h"

namespace tg::opt {

// What a target lets a kernel do.
struct Limits {
  bool threads = true;             // kernels may be split over cores
  bool work_groups = false;        // GLOBAL, LOCAL, WARP and GROUP_REDUCE axes
  int64_t shared_memory = 0;       // bytes that a work group shares
  int64_t max_threads = 1024;      // parts of one kernel
  int64_t max_expand = 128;        // iterations that one UPCAST or UNROLL expands
  int64_t max_expand_all = 16384;  // of all of them, around and in one reduction
};
Limits LimitsOf(const render::Target& target);

struct Axis {
  ir::AxisType type;
  int64_t size;    // iterations; -1 where it is known at run time only
  int root;        // the range of the original kernel that it is (a part of)
  int64_t stride;  // what one iteration adds to the root's value
  int32_t id;      // of its kRange

  bool operator==(const Axis&) const = default;
};

// A range of the kernel as it was given.
struct Root {
  ir::UOp range;
  int64_t size;    // -1 where it is known at run time only
  int64_t padded;  // its iterations after PADTO
  bool reduce;
};

class Kernel {
 public:
  // `ast`: a kSink of kEnd(kStore or kGroup of them, ranges...), see lower.h. Errors:
  // InvalidArgument for anything else, and for a range that is closed as an output and by a
  // reduction.
  static absl::StatusOr<Kernel> Make(const ir::UOp& ast, const Limits& limits);

  // Applies a step. On an error (InvalidArgument: a sentence that says why not) nothing changes.
  absl::Status Apply(const ir::Opt& opt);

  absl::Span<const Axis> axes() const { return axes_; }
  absl::Span<const Root> roots() const { return roots_; }
  absl::Span<const ir::Opt> applied() const { return applied_; }
  const ir::UOp& original() const { return ast_; }
  const Limits& limits() const { return limits_; }
  // The root whose range is `range`, or -1.
  int RootOf(const ir::UOp& range) const;
  // The position of the outermost axis of `root` that has this type, or -1.
  int FindAxis(int root, ir::AxisType type) const;

  // The kernel with all steps applied, simplified, and with KernelInfo {Name(), applied(), true}.
  // Ranges keep the number of the axis they were split from, new ones count on from the greatest.
  ir::UOp Ast() const;

  // "r_16_64_3_32": r for kernels with a reduction and E for others, then the sizes of the axes;
  // v for a size that is known at run time only. A C identifier.
  std::string Name() const;

 private:
  struct Reduction {
    std::vector<int> roots;  // that are closed together
    int bytes = 0;           // of its result
    bool inside = false;     // of a loop of another reduction
  };

  Kernel() = default;

  absl::Status Split(const ir::Opt& opt);
  absl::Status CheckSplitType(const Axis& axis, const ir::Opt& opt, int64_t amount) const;
  absl::Status PadTo(const ir::Opt& opt);
  absl::Status Swap(const ir::Opt& opt);
  absl::Status NoLocals();
  // Why an axis cannot get a type that is for others: outputs or reductions.
  absl::Status RefuseKind(const Axis& axis, const ir::Opt& opt) const;
  absl::Status CheckWorkItem(const Axis& axis, const ir::Opt& opt, int64_t amount) const;
  absl::Status CheckThread(const Axis& axis, int64_t amount) const;
  bool InEveryStore(const Root& root) const;
  // How often the body of the reduction that `root` belongs to (or, for an output, of any) is
  // copied.
  int64_t Copies(int root) const;
  std::string Shape() const;
  // Appends to the axes of its type.
  void Insert(const Axis& axis);

  ir::UOp ast_;
  Limits limits_;
  std::vector<Root> roots_;
  std::vector<Reduction> reductions_;
  std::vector<Axis> axes_;
  std::vector<ir::Opt> applied_;
  int32_t next_id_ = 0;
  bool no_locals_ = false;
};

}  // namespace tg::opt

#endif  // TG_CODEGEN_OPT_KERNEL_H_
