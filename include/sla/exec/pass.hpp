// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One pass on the host: each thread walks its rows in blocks of about a thousand elements and runs the statements one after
// the other inside a block, which stays in the first-level cache. Blocks, not threads, fix the order of reductions.
#pragma once

#include <vector>

#include <sla/exec/plan.hpp>
#include <sla/tensor/parallel.hpp>

namespace sla {

namespace detail {
inline constexpr index_t block_elements = 1024;

/// Cuts rows between threads so that each gets as many stored entries and elements; from the products of a statement.
struct find_cuts {
  index_t rows, block;
  std::vector<index_t>* cuts;  ///< in blocks; size threads + 1
  template <class X>
  X operator()(X const& x) const {
    if constexpr (requires { x.work_before(index_t()); }) {
      int const threads = int(cuts->size()) - 1;
      auto work = [&](index_t row) { return double(x.work_before(row)) + 3.0 * double(row); };
      double const first = work(0), all = work(rows) - first;
      for (int t = 1; t < threads; ++t) {
        index_t lo = (*cuts)[std::size_t(t - 1)], hi = (rows + block - 1) / block;
        while (lo < hi) {
          index_t const mid = lo + (hi - lo) / 2;
          if (work(mid * block) - first < all * t / threads)
            lo = mid + 1;
          else
            hi = mid;
        }
        (*cuts)[std::size_t(t)] = lo;
      }
    }
    x.rebuild(*this);
    return x;
  }
};

struct nothing {};
template <class S>
struct accumulator_of {
  using type = nothing;
};
template <class S>
  requires requires { typename S::accumulator_type; }
struct accumulator_of<S> {
  using type = typename S::accumulator_type;
};
template <class S>
using accumulator_of_t = typename accumulator_of<S>::type;
/// Does the statement fold to a result?
template <class S>
inline constexpr bool has_result = !std::same_as<accumulator_of_t<S>, nothing>;
}  // namespace detail

/// Rows [first_row, last_row) of every batch item: a pass may come in pieces (interior rows, then boundary rows).
struct row_range {
  index_t first, last;
};

/// The partial results of a pass: per statement, per block, per right-hand side. Kept between the pieces of a pass.
template <class... S>
class pass_partials {
 public:
  /// Folds the blocks, in order, into `result` of each reduction (one value per item, or one in all if merged).
  template <std::size_t N>
  void fold(frame f, bool merged, detail::accumulator_of_t<std::tuple_element_t<N, std::tuple<S...>>>* result) const {
    using Statement = std::tuple_element_t<N, std::tuple<S...>>;
    if constexpr (detail::has_result<Statement>) {
      index_t const items = merged ? 1 : f.items();
      for (index_t k = 0; k < items; ++k) result[k] = Statement::identity();
      auto const& values = std::get<N>(values_);
      std::size_t at = 0;
      for (auto const& [batch, count] : runs_)
        for (index_t n = 0; n < count; ++n)
          for (index_t k = 0; k < f.rhs; ++k)
            Statement::monoid_type::fold(result[merged ? 0 : batch * f.rhs + k], values[at++]);
    }
  }

  std::tuple<std::vector<detail::accumulator_of_t<S>>...> values_;
  std::vector<std::pair<index_t, index_t>> runs_;  ///< (batch item, blocks) in the order of the values
};

namespace detail {
template <std::size_t Count, class... S>
void run_block(pass_plan<Count> const& plan, int pass, std::tuple<S...> const& statements, span s,
               std::tuple<accumulator_of_t<S>*...> results) {
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    auto one = [&]<std::size_t M>(std::integral_constant<std::size_t, M>) {
      auto const& statement = std::get<M>(statements);
      using Statement = std::remove_cvref_t<decltype(statement)>;
      if constexpr (!is_whole<Statement>) {
        if (plan.pass_of[M] != pass) return;
        auto run = [&](auto const& bound) {
          if constexpr (detail::has_result<Statement>) {
            auto* const result = std::get<M>(results);
            for (index_t k = 0; k < s.rhs; ++k) result[k] = Statement::identity();
            bound.run(s, result);
          } else {
            bound.run(s);
          }
        };
        if (s.rhs == 1)
          run(statement.rebuild(bind_item{s.item}));
        else
          run(statement);
      }
    };
    (one(std::integral_constant<std::size_t, N>{}), ...);
  }(std::index_sequence_for<S...>{});
}
}  // namespace detail

/// Runs the statements of one pass on a range of rows, with at most `max_threads` threads.
template <std::size_t Count, class... S, class Partials>
void run_pass(pass_plan<Count> const& plan, int pass, std::tuple<S...> const& statements, frame f, row_range range,
              int max_threads, Partials& partials) {
  index_t const rows = range.last - range.first;
  if (rows <= 0 || f.batch == 0 || f.inner == 0) return;
  index_t const block = (std::max)(index_t(1), detail::block_elements / f.inner), per_item = (rows + block - 1) / block;
  index_t const units = f.batch * per_item;
  index_t const elements = rows * f.batch * f.inner;
  int const threads = elements < serial_below ? 1 : int((std::min)(index_t(max_threads), units));

  std::array<std::size_t, sizeof...(S)> base{};
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    auto grow = [&]<class A>(std::vector<A>& values, std::size_t& first, bool runs) {
      first = values.size();
      if (runs && !std::same_as<A, detail::nothing>) values.resize(first + std::size_t(units * f.rhs));
    };
    (grow(std::get<N>(partials.values_), base[N], plan.pass_of[N] == pass), ...);
  }(std::index_sequence_for<S...>{});
  for (index_t b = 0; b < f.batch; ++b) partials.runs_.push_back({b, per_item});

  std::vector<index_t> cuts(std::size_t(threads) + 1);
  for (int t = 0; t <= threads; ++t) cuts[std::size_t(t)] = units * t / threads;
  if (threads > 1 && f.batch == 1 && range.first == 0) {
    auto cut = [&](auto const& s, int of) {
      if (of == pass) (void)s.rebuild(detail::find_cuts{rows, block, &cuts});
    };
    [&]<std::size_t... N>(std::index_sequence<N...>) {
      (cut(std::get<N>(statements), plan.pass_of[N]), ...);
    }(std::index_sequence_for<S...>{});
  }

  parallel(threads, [&](int t) {
    for (index_t unit = cuts[std::size_t(t)]; unit < cuts[std::size_t(t) + 1]; ++unit) {
      index_t const b = f.batch == 1 ? 0 : unit / per_item, row = range.first + (unit - b * per_item) * block;
      index_t const length = (std::min)(block, range.last - row);
      span const s{(b * f.rows + row) * f.inner, length * f.inner, b * f.rhs, f.rhs};
      auto results = [&]<std::size_t... N>(std::index_sequence<N...>) {
        auto place = [&]<class A>(std::vector<A>& values, std::size_t first) {
          return values.empty() ? nullptr : values.data() + first + std::size_t(unit * f.rhs);
        };
        return std::tuple<detail::accumulator_of_t<S>*...>{place(std::get<N>(partials.values_), base[N])...};
      }(std::index_sequence_for<S...>{});
      detail::run_block(plan, pass, statements, s, results);
    }
  });
}

}  // namespace sla
