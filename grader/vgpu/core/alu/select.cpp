// Selection by a predicate or a sign (PTX ISA, Comparison and Selection Instructions): selp, slct.
#include "vgpu/core/alu/float_formats.hpp"
#include "vgpu/core/alu/forms.hpp"

namespace scanlab::vgpu {

namespace {

template <class U>
[[gnu::always_inline]] inline void choose(U* to, const U* a, const U* b, Mask choice, Mask active) {
  for (unsigned chunk = 0; chunk < VectorOf<U>::count; ++chunk) {
    Vector<Signed<U>> takes_a;
    expand<Signed<U>>(takes_a, choice, chunk);
    const Vector<U> chosen = takes_a ? vector_at(a, chunk) : vector_at(b, chunk);
    Vector<U>& result = vector_at(to, chunk);
    if (active == full_mask) [[likely]] {
      result = chosen;
    } else {
      Vector<Signed<U>> writes;
      expand<Signed<U>>(writes, active, chunk);
      result = writes ? chosen : result;
    }
  }
}
/// selp: op[3] is a predicate, of which the bits of `flip` are negated.
template <class U, Mask flip>
const Inst* selp(Warp& warp, const Inst* inst) {
  choose(lanes_at<U>(warp, inst->op[0]), lanes_at<U>(warp, inst->op[1]), lanes_at<U>(warp, inst->op[2]),
         warp.predicate(inst->op[3]) ^ flip, warp.active);
  return proceed(warp, inst + 1);
}
template <class U, Mask flip>
const Step* selp_in_gang(Gang& g, const Step* s) {
  const OperandRef d = s->inst->op[0], a = s->inst->op[1], b = s->inst->op[2], p = s->inst->op[3];
  for_each_warp(g, [&](unsigned k) {
    const Mask choice = predicate_at(g, k, p) ^ flip;
    choose(lanes_at<U>(g, k, d), lanes_at<U>(g, k, a), lanes_at<U>(g, k, b), choice, g.active[k]);
  });
  return s + 1;
}

/// slct: by the sign of c; -0 counts as not negative, NaN as negative.
template <bool ftz>
struct SelectBySign {
  template <class U, class C>
  U operator()(U a, U b, C c) const {
    return flushed_if<ftz>(c) >= C{0} ? a : b;
  }
};

}  // namespace

void add_selection_forms(Forms& forms) {
  for_types<u16, u32, u64>([&]<class U>() {
    constexpr ptx::Type t = type_of<U>, p = ptx::Type::pred;
    const auto add = [&](const std::string& type) {
      forms.add("selp" + type, selp<U, 0>, {t, t, t, p}).in_gang = selp_in_gang<U, 0>;
      forms.add("selp" + type + " !3", selp<U, full_mask>, {t, t, t, p}).in_gang = selp_in_gang<U, full_mask>;
      forms.rare<SelectBySign<false>, U, U, U, s32>("slct" + type + ".s32");
      forms.rare<SelectBySign<false>, U, U, U, f32>("slct" + type + ".f32");
      forms.rare<SelectBySign<true>, U, U, U, f32>("slct.ftz" + type + ".f32");
    };
    add(bits_name<U>());
    add(type_name<U>());
    add(type_name<Signed<U>>());
    if (sizeof(U) >= 4) add(sizeof(U) == 4 ? ".f32" : ".f64");
  });
}

}  // namespace scanlab::vgpu
