#include "codegen/lower/vectorize.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "base/check.h"
#include "codegen/ir/simplify/simplify.h"
#include "codegen/lower/rebuild.h"

namespace tg::lower {
namespace {

using ir::DType;
using ir::LinearForm;
using ir::LinearTerm;
using ir::Op;
using ir::UOp;

class Vectorizer {
 public:
  explicit Vectorizer(absl::Span<const UOp> axes) : axes_(axes) {}

  UOp Run(const UOp& sink) {
    UOp result;
    for (const UOp& u : ir::Toposort(sink)) {
      result = Make(u);
      made_.emplace(u.id(), result);
    }
    return result;
  }

 private:
  // The axis in lanes that `u` depends on; null: `u` stays a scalar.
  UOp AxisOf(const UOp& u) const {
    for (const UOp& axis : axes_) {
      if (u.DependsOnRange(axis)) return axis;
    }
    return UOp();
  }
  static int Lanes(const UOp& axis) { return axis ? static_cast<int>(axis.src(0).const_int()) : 1; }
  const UOp& Made(const UOp& u) const { return made_.find(u.id())->second; }

  static UOp Splat(const UOp& u, int lanes) {
    if (u.dtype().lanes() == lanes) return u;
    TG_CHECK_EQ(u.dtype().lanes(), 1);
    const DType d = u.dtype().Vec(lanes);
    if (u.IsConst()) return UOp::Make(Op::kConst, d, {}, u.arg());
    const absl::InlinedVector<UOp, 32> src(lanes, u);
    return UOp::Make(Op::kStack, d, src);
  }

  UOp Make(const UOp& u) {
    switch (u.op()) {
      case Op::kRange: {
        if (std::find(axes_.begin(), axes_.end(), u) == axes_.end()) break;
        absl::InlinedVector<UOp, 32> counts;
        for (int i = 0; i < Lanes(u); ++i) counts.push_back(ir::IndexConst(i));
        return UOp::Make(Op::kStack, ir::kIndex.Vec(Lanes(u)), counts);
      }
      case Op::kIndex:
        return MakeIndex(u);
      case Op::kLoad: {
        const int lanes = Lanes(AxisOf(u));
        absl::InlinedVector<UOp, 2> src = {Made(u.src(0))};
        if (u.src_count() > 1) src.push_back(Splat(Made(u.src(1)), lanes));
        return UOp::Make(Op::kLoad, u.dtype().Vec(lanes), src);
      }
      case Op::kStore: {
        const UOp& index = Made(u.src(0));
        UOp value = Made(u.src(1));
        const int lanes = Lanes(AxisOf(u));
        if (!AxisOf(u.src(0))) {
          // All lanes go to one place: the last stays.
          if (value.dtype().lanes() > 1) {
            value = UOp::Make(Op::kLane, value.dtype().Scalar(), {value}, int64_t{lanes - 1});
          }
        } else {
          value = Splat(value, lanes);
        }
        return UOp::Make(Op::kStore, ir::kVoid, {index, value});
      }
      case Op::kReduce:
      case Op::kEnd:
        return MakeClosing(u);
      default:
        break;
    }
    const UOp axis = AxisOf(u);
    absl::InlinedVector<UOp, 8> src;
    for (const UOp& s : u.src()) src.push_back(Made(s));
    if (!axis || !ir::IsElementwise(u.op())) return WithSources(u, src);
    for (UOp& s : src) s = Splat(s, Lanes(axis));
    return UOp::Make(u.op(), u.dtype().Vec(Lanes(axis)), src, u.arg());
  }

  UOp MakeClosing(const UOp& u) {
    absl::InlinedVector<UOp, 8> src = {Made(u.src(0))};
    int lanes = 1;
    for (const UOp& r : u.src().subspan(1)) {
      if (std::find(axes_.begin(), axes_.end(), r) == axes_.end()) {
        src.push_back(Made(r));
      } else {
        lanes = Lanes(r);
      }
    }
    if (u.Is(Op::kEnd)) {
      return src.size() == 1 ? src[0] : WithSources(u, src);
    }
    if (lanes > 1) src[0] = Splat(src[0], lanes);
    UOp partial = src[0];
    if (src.size() > 1) partial = UOp::Make(Op::kReduce, src[0].dtype(), src, u.arg());
    if (lanes == 1) return partial;
    return UOp::Make(Op::kReduce, u.dtype(), {partial}, u.arg());
  }

  UOp MakeIndex(const UOp& u) {
    const UOp axis = AxisOf(u);
    const UOp& i = u.src(1);
    absl::InlinedVector<UOp, 3> src = {Made(u.src(0)), Made(i)};
    if (axis && i.DependsOnRange(axis)) src[1] = LaneIndex(i, axis);
    if (u.src_count() > 2) {
      src.push_back(Made(u.src(2)));
      // One address for all lanes that only the gate tells apart: the lanes are those of a vector
      // of equal indices.
      if (src[2].dtype().lanes() > 1 && !i.DependsOnRange(axis)) {
        src[1] = Splat(src[1], Lanes(axis));
      }
    }
    return UOp::Make(Op::kIndex, u.dtype(), src);
  }

  // The sum in terms of new nodes; nullopt where a term is no node of the graph.
  std::optional<UOp> Sum(const LinearForm& form) const {
    UOp sum;
    for (const LinearTerm& t : form.terms) {
      auto it = made_.find(t.term.id());
      if (it == made_.end()) return std::nullopt;
      const UOp term = t.coef == 1 ? it->second : it->second * t.coef;
      sum = sum ? sum + term : term;
    }
    if (!sum) return ir::IndexConst(form.constant);
    return form.constant == 0 ? sum : sum + form.constant;
  }

  // Scalar index of consecutive elements, or a vector of indices.
  UOp LaneIndex(const UOp& index, const UOp& axis) {
    const int lanes = Lanes(axis);
    LinearForm form = ir::SumTerms(index);
    int64_t coef = 0;
    bool linear = true;
    for (const LinearTerm& t : form.terms) {
      if (t.term == axis) {
        coef = t.coef;
      } else if (t.term.DependsOnRange(axis)) {
        linear = false;
      }
    }
    absl::InlinedVector<int64_t, 32> offsets;
    if (linear) {
      auto is_axis = [&](const LinearTerm& t) { return t.term == axis; };
      form.terms.erase(std::remove_if(form.terms.begin(), form.terms.end(), is_axis),
                       form.terms.end());
      for (int l = 0; l < lanes; ++l) offsets.push_back(coef * l);
    } else if (!OffsetsByLane(index, axis, form, offsets)) {
      return Made(index);
    }
    const std::optional<UOp> base = Sum(form);
    if (!base || base->dtype().lanes() != 1) return Made(index);
    bool consecutive = true;
    for (int l = 0; l < lanes; ++l) consecutive = consecutive && offsets[l] == l;
    if (consecutive) return *base;
    absl::InlinedVector<UOp, 32> places;
    for (int64_t offset : offsets) {
      LinearForm at = form;
      at.constant += offset;
      places.push_back(*Sum(at));
    }
    return UOp::Make(Op::kStack, ir::kIndex.Vec(lanes), places);
  }

  // Whether the index of each lane is that of lane 0 (`form`) plus a constant.
  bool OffsetsByLane(const UOp& index, const UOp& axis, LinearForm& form,
                     absl::InlinedVector<int64_t, 32>& offsets) {
    for (const UOp& u : ir::Toposort(index)) {
      if (u.Is(Op::kLoad) && u.DependsOnRange(axis)) return false;
    }
    for (int l = 0; l < Lanes(axis); ++l) {
      const UOp at = ir::SimplifyIndex(ir::Substitute(index, {{axis, ir::IndexConst(l)}}));
      LinearForm lane = ir::SumTerms(at);
      if (l == 0) {
        form = std::move(lane);
        // Terms that simplification made are put into the new graph as they are: they have no lanes
        // and no reductions across lanes below.
        for (const LinearTerm& t : form.terms) {
          if (made_.contains(t.term.id())) continue;
          for (const UOp& u : ir::Toposort(t.term)) {
            if (u.Is(Op::kReduce) || u.Is(Op::kLoad)) return false;
          }
          made_.emplace(t.term.id(), t.term);
          kept_.push_back(t.term);
        }
        offsets.push_back(0);
        continue;
      }
      if (lane.terms.size() != form.terms.size()) return false;
      for (size_t t = 0; t < lane.terms.size(); ++t) {
        if (!(lane.terms[t].term == form.terms[t].term) ||
            lane.terms[t].coef != form.terms[t].coef) {
          return false;
        }
      }
      offsets.push_back(lane.constant - form.constant);
    }
    return true;
  }

  const absl::Span<const UOp> axes_;
  absl::flat_hash_map<const void*, UOp> made_;
  std::vector<UOp> kept_;  // keys of made_ that the graph does not hold
};

}  // namespace

UOp Vectorize(const UOp& sink, absl::Span<const UOp> axes) {
  return axes.empty() ? sink : Vectorizer(axes).Run(sink);
}

}  // namespace tg::lower
