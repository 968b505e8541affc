#include "codegen/lower/ranges.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "codegen/lower/fold_node.h"
#include "codegen/lower/rebuild.h"
#include "codegen/lower/reduce_op.h"

namespace tg::lower {
namespace {

using ir::AxisType;
using ir::Op;
using ir::RangeArg;
using ir::UOp;

AxisType TypeOf(const UOp& range) { return range.arg_as<RangeArg>().type; }

bool HasSize(const UOp& range, int64_t size) { return range.src(0).IsConstInt(size); }

absl::Status CheckSink(const UOp& sink) {
  if (!sink || !sink.Is(Op::kSink)) {
    return absl::InvalidArgumentError("lower: the root of a kernel must be a Sink");
  }
  for (const UOp& s : sink.src()) {
    const UOp& body = s.Is(Op::kEnd) ? s.src(0) : s;
    if (!body.Is(Op::kStore) && !body.Is(Op::kGroup)) {
      return absl::InvalidArgumentError(
          absl::StrCat("lower: a kernel's output must be a Store or a Group of them, not ",
                       ir::OpName(body.op())));
    }
    for (const UOp& store : body.src().subspan(0, body.Is(Op::kGroup) ? body.src_count() : 0)) {
      if (!store.Is(Op::kStore)) {
        return absl::InvalidArgumentError("lower: a Group of outputs may hold Stores only");
      }
    }
  }
  return absl::OkStatus();
}

// The thread range to keep, or null.
UOp ChooseThread(const UOp& sink) {
  UOp chosen;
  for (const UOp& s : sink.src()) {
    UOp mine;
    if (s.Is(Op::kEnd)) {
      for (const UOp& r : s.src().subspan(1)) {
        if (TypeOf(r) == AxisType::kThread && r.src(0).IsConst() && r.src(0).const_int() > 1) {
          mine = r;
          break;
        }
      }
    }
    if (!mine || (chosen && !(chosen == mine))) return UOp();
    chosen = mine;
  }
  return chosen;
}

}  // namespace

absl::StatusOr<UOp> PrepareRanges(const UOp& sink, bool has_threads) {
  if (absl::Status s = CheckSink(sink); !s.ok()) return s;
  const UOp thread = has_threads ? ChooseThread(sink) : UOp();
  absl::Status status;
  const UOp result = Rebuild(sink, [&](const UOp& u, absl::Span<const UOp> src) -> UOp {
    switch (u.op()) {
      case Op::kRange: {
        if (HasSize(u, 0) || HasSize(u, 1)) return ir::IndexConst(0);
        const AxisType type = TypeOf(u);
        switch (type) {
          case AxisType::kDevice:
          case AxisType::kGlobal:
          case AxisType::kWarp:
          case AxisType::kLocal:
          case AxisType::kGroupReduce:
            status = absl::UnimplementedError(absl::StrCat("lower: no ", ir::AxisTypeName(type),
                                                           " ranges in programs of this target"));
            return u;
          case AxisType::kThread:
            if (!(u == thread)) {
              return UOp::Make(Op::kRange, u.dtype(), src,
                               RangeArg{.id = u.arg_as<RangeArg>().id, .type = AxisType::kLoop});
            }
            break;
          case AxisType::kUpcast:
          case AxisType::kUnroll:
            if (!u.src(0).IsConst()) {
              status = absl::InvalidArgumentError(absl::StrCat(
                  "lower: a range of type ", ir::AxisTypeName(type), " must have a constant size"));
            }
            break;
          default:
            break;
        }
        return WithSources(u, src);
      }
      case Op::kReduce:
      case Op::kEnd: {
        absl::InlinedVector<UOp, 8> kept = {src[0]};
        for (int i = 1; i < u.src_count(); ++i) {
          if (HasSize(u.src(i), 0)) {
            return u.Is(Op::kEnd) ? UOp::Make(Op::kGroup, ir::kVoid, {})
                                  : ReduceIdentity(u.arg_as<ir::ReduceArg>().op, u.dtype());
          }
          if (src[i].Is(Op::kRange)) kept.push_back(src[i]);
        }
        if (kept.size() == 1 && u.Is(Op::kReduce)) return src[0];
        return WithSources(u, kept);
      }
      case Op::kSink: {
        absl::InlinedVector<UOp, 4> kept;
        for (const UOp& s : src) {
          if (!s.Is(Op::kGroup) || s.src_count() > 0) kept.push_back(s);
        }
        return u.WithSrc(kept);
      }
      default:
        return FoldNode(u, src);
    }
  });
  if (!status.ok()) return status;
  return result;
}

}  // namespace tg::lower
