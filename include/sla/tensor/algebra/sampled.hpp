// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums and products of sparse tensors, computed on a given pattern alone: what the gradients of A + B, A * B and
// kron(A, B) are made of (grad/operation/traced_sparse.hpp). Nothing of M x N and no full product is formed.
#pragma once

#include <algorithm>

#include <sla/tensor/algebra/multiply.hpp>

namespace sla::detail {

/// f(slot of part, slot of whole) for the places that both patterns store, row by row in parallel. The rows of `whole` ascend,
/// or the patterns are the same.
template <class Part, class Whole, class F>
void for_common_slots(Part const& part, Whole const& whole, F const& f) {
  bool same = false;
  if constexpr (std::same_as<Part, Whole>) same = same_pattern(part, whole);
  auto const part_view = part.view();
  auto const whole_view = whole.view();
  parallel_ranges(part.rows, [&](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i)
      part_view.for_row(i, [&](index_t s, index_t j) {
        if (index_t const t = same ? s : find_slot(whole_view, i, j); t >= 0) f(s, t);
      });
  });
}
/// to += alpha from at one slot, in blocks; items of `from` add up where `to` has but one.
template <class A, class N, class G>
void add_slot(A& to, index_t s, N alpha, G const& from, index_t t) {
  constexpr index_t block = A::block_size;
  auto* const out = kernel_pointer(to.values().data());
  auto const* const in = kernel_pointer(from.values().data());
  index_t const items = (std::max)(to.batch_count(), from.batch_count());
  for (index_t b = 0; b < items; ++b)
    for (index_t e = 0; e < block; ++e)
      out[b * item_stride(to) + s * block + e] +=
          scalar_cast<kernel_t<typename A::value_type>>(op::mul::apply(alpha, in[b * item_stride(from) + t * block + e]));
}
/// sum += alpha G on the pattern of sum: entries of G elsewhere are left out.
template <class A, class N, class G>
void add_sample(A& sum, N alpha, G const& g) {
  for_common_slots(sum.pattern(), g.pattern(), [&](index_t s, index_t t) { add_slot(sum, s, alpha, g, t); });
}
/// sum += alpha D, where sum stores all entries of D.
template <class A, class N, class D>
void add_spread(A& sum, N alpha, D const& d) {
  for_common_slots(d.pattern(), sum.pattern(), [&](index_t s, index_t t) { add_slot(sum, t, alpha, d, s); });
}

/// sum += G B^H on the pattern of A, for G on the pattern of the plan of A B. Cost: that of A B.
template <class Plan, class A, class G, class B>
void add_times_adjoint(Plan const& plan, A& sum, G const& g, B const& b) {
  constexpr index_t P = A::shape_type::block_rows, Q = A::shape_type::block_cols, R = B::shape_type::block_cols;
  using T = kernel_t<typename A::value_type>;
  using V = promote_t<kernel_t<typename G::value_type>, kernel_t<typename B::value_type>>;
  auto const va = plan.left().view();
  auto const vb = plan.right().view();
  auto const vc = g.pattern().view();
  parallel_work(plan.work(), [&, out = kernel_pointer(sum.values().data()), left = kernel_pointer(g.values().data()),
                              right = kernel_pointer(b.values().data())](index_t lo, index_t hi, int) {
    column_places places;
    for (index_t i = lo; i < hi; ++i) {
      index_t const first = vc.row_ptr[i];
      places.open(vc.col + first, vc.row_ptr[i + 1] - first);
      places.use([&](auto const& place) {
        for (index_t item = 0; item < g.batch_count(); ++item) {
          auto const* const row = left + item * g.batch_stride() + first * P * R;
          auto const* const factor = right + item * item_stride(b);
          va.for_row(i, [&](index_t s, index_t k) {
            V total[P * Q] = {};
            vb.for_row(k, [&](index_t t, index_t j) {
              auto const* const block = row + place(j) * P * R;
              for (index_t p = 0; p < P; ++p)
                for (index_t q = 0; q < Q; ++q)
                  for (index_t r = 0; r < R; ++r)
                    total[p * Q + q] += op::mul::apply(block[p * R + r], conj_of(factor[(t * Q + q) * R + r]));
            });
            for (index_t e = 0; e < P * Q; ++e)
              out[item * item_stride(sum) + s * P * Q + e] += scalar_cast<T>(total[e]);
          });
        }
      });
    }
  });
}

/// sum += A^H G on the pattern of B, for G on the pattern of the plan of A B. Each thread has rows of B for itself, and
/// walks those rows of A that meet them. Cost: that of A B, and A's columns once per thread.
template <class Plan, class B, class A, class G>
void add_adjoint_times(Plan const& plan, B& sum, A const& a, G const& g) {
  constexpr index_t P = A::shape_type::block_rows, Q = A::shape_type::block_cols, R = B::shape_type::block_cols;
  using T = kernel_t<typename B::value_type>;
  auto const va = plan.left().view();
  auto const vb = plan.right().view();
  auto const vc = g.pattern().view();
  parallel_work(plan.right().row_ptr, [&, out = kernel_pointer(sum.values().data()),
                                       left = kernel_pointer(a.values().data()),
                                       right = kernel_pointer(g.values().data())](index_t lo, index_t hi, int) {
    column_places places;
    auto mine = [&](index_t k) { return lo <= k && k < hi; };
    for (index_t i = 0; i < va.rows; ++i) {
      if (std::none_of(va.col + va.row_ptr[i], va.col + va.row_ptr[i + 1], mine)) continue;
      index_t const first = vc.row_ptr[i];
      places.open(vc.col + first, vc.row_ptr[i + 1] - first);
      places.use([&](auto const& place) {
        for (index_t item = 0; item < g.batch_count(); ++item) {
          auto const* const factor = left + item * item_stride(a);
          auto const* const row = right + item * g.batch_stride() + first * P * R;
          va.for_row(i, [&](index_t s, index_t k) {
            if (!mine(k)) return;
            vb.for_row(k, [&](index_t t, index_t j) {
              auto* const to = out + item * item_stride(sum) + t * Q * R;
              auto const* const block = row + place(j) * P * R;
              for (index_t q = 0; q < Q; ++q)
                for (index_t r = 0; r < R; ++r)
                  for (index_t p = 0; p < P; ++p)
                    to[q * R + r] +=
                        scalar_cast<T>(op::mul::apply(conj_of(factor[(s * P + p) * Q + q]), block[p * R + r]));
            });
          });
        }
      });
    }
  });
}

/// f(slot of A, slot of B, slot of G) for the pairs of entries in row i of A and row k of B, where G is kron(A, B).
template <class VA, class VB, class VG, class F>
void for_kron_row(VA const& a, VB const& b, VG const& g, index_t i, index_t k, F const& f) {
  a.for_row(i, [&](index_t s, index_t j) {
    b.for_row(k, [&](index_t t, index_t l) { f(s, t, find_slot(g, i * b.rows + k, j * b.cols + l)); });
  });
}
/// sum += the sums of G conj(B) over each copy of B, where G lives on the pattern of kron(A, B).
template <class A, class G, class B>
void add_kron_left(A& sum, G const& g, B const& b) {
  constexpr index_t block = B::block_size;
  using T = kernel_t<typename A::value_type>;
  auto const va = sum.pattern().view();
  auto const vb = b.pattern().view();
  auto const vg = g.pattern().view();
  parallel_ranges(va.rows, [&, out = kernel_pointer(sum.values().data()), values = kernel_pointer(g.values().data()),
                            right = kernel_pointer(b.values().data())](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i)
      for (index_t k = 0; k < vb.rows; ++k)
        for_kron_row(va, vb, vg, i, k, [&](index_t s, index_t t, index_t at) {
          for (index_t item = 0; item < g.batch_count(); ++item)
            for (index_t e = 0; e < block; ++e)
              out[item * item_stride(sum) + s] +=
                  scalar_cast<T>(op::mul::apply(values[item * g.batch_stride() + at * block + e],
                                                conj_of(right[item * item_stride(b) + t * block + e])));
        });
  });
}
/// sum += the sums of conj(A) G over all copies of B.
template <class B, class A, class G>
void add_kron_right(B& sum, A const& a, G const& g) {
  constexpr index_t block = B::block_size;
  using T = kernel_t<typename B::value_type>;
  auto const va = a.pattern().view();
  auto const vb = sum.pattern().view();
  auto const vg = g.pattern().view();
  parallel_ranges(vb.rows, [&, out = kernel_pointer(sum.values().data()), values = kernel_pointer(g.values().data()),
                            left = kernel_pointer(a.values().data())](index_t lo, index_t hi) {
    for (index_t k = lo; k < hi; ++k)
      for (index_t i = 0; i < va.rows; ++i)
        for_kron_row(va, vb, vg, i, k, [&](index_t s, index_t t, index_t at) {
          for (index_t item = 0; item < g.batch_count(); ++item)
            for (index_t e = 0; e < block; ++e)
              out[item * item_stride(sum) + t * block + e] +=
                  scalar_cast<T>(op::mul::apply(conj_of(left[item * item_stride(a) + s]),
                                                values[item * g.batch_stride() + at * block + e]));
        });
  });
}

} // namespace sla::detail
