// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host's backends: what runs the passes of a `fuse`. `serial` is the oracle: each statement by itself, element after
// element, nothing clever. `openmp` is the fast host: blocks, threads, row kernels (exec/pass.hpp).
#pragma once

#include <sla/exec/pass.hpp>

namespace sla {

/// Where the results of one fuse go: a pointer per reduction, one value per item.
template <class... S>
using result_pointers = detail::pack<detail::accumulator_of_t<S>*...>;

namespace detail {
/// f(statement, result pointer) for the statements of one pass.
template <std::size_t Count, class... S, class F>
void for_statements(pass_plan<Count> const& plan, int pass, detail::pack<S...> const& statements, F const& f) {
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    ((plan.pass_of[N] == pass ? f(detail::part<N>(statements), std::integral_constant<std::size_t, N>{}) : void()), ...);
  }(std::index_sequence_for<S...>{});
}

/// The layout of a pass by its products, or else of one item.
template <class = void>
frame frame_of_pass(pass_layout const& elements) {
  return elements.layout.rows >= 0 ? elements.layout : frame{1, elements.total, 1, 1};
}
/// The layout of a pass in a space, which takes part with its items only: rows are those of products, or as many as the statements have.
/// Errors: shape_error, if the statements have other items.
template <class = void>
frame frame_of_pass(pass_layout const& elements, frame const& space) {
  if (elements.layout.rows < 0) {
    if (elements.total == space.total()) return space;
    index_t const items = space.items(), rows = items ? elements.total / items : 0;
    if (rows * items != elements.total)
      throw shape_error(text("fuse: a statement of ", elements.total, " elements in a space of batch ", space.batch, " and ", space.rhs, " right-hand sides; ",
                             "each of these has as many"));
    return {space.batch, rows, space.rhs, space.rhs};
  }
  frame found = elements.layout;
  // one item has all columns of a block: right-hand sides are columns, and its rows those of all batch items
  bool const any_size = space.items() == 1 && space.rows == 0;  // the space was made without sizes
  if (space.rhs == 1 && found.batch == space.batch && (any_size || found.inner == space.inner || found.rows == space.rows)) found.rhs = 1;
  if (found.batch == 1 && found.rhs == 1 && space.batch > 1 && found.rows % space.batch == 0) found.batch = space.batch, found.rows /= space.batch;
  if (found.batch != space.batch || found.rhs != space.rhs)
    throw shape_error(text("fuse: a product of batch ", found.batch, " and ", found.rhs, " right-hand sides in a space of batch ",
                           space.batch, " and ", space.rhs, "; make the space with the items of its vectors"));
  return found;
}
} // namespace detail

/// The backend of the host, and the default: a pass over memory on all threads, each with its own rows.
struct openmp {
  static constexpr bool is_backend = true, joins_products = true;
  int threads = 0;  ///< 0: as `set_threads` says

  template <std::size_t Count, class... S, class F>
  void run(pass_plan<Count> const& plan, int pass, detail::pack<S...> const& statements, F f, bool merged,
           result_pointers<S...> const& results) const {
    run(detail::statements_of_pass<F>(plan, pass, statements, results), f, merged);
  }
  template <class Byte = std::byte>
  void run(std::span<detail::pass_statement const> statements, frame const& f, bool merged) const {
    if (is_one_block(f) && (!merged || f.rhs == 1)) return run_block(statements, {0, f.total(), 0, f.rhs});
    pass_partials<Byte> partials(merged);
    run_pass(statements, f, row_range{0, f.rows}, threads, partials);
    partials.fold(statements, f, merged);
  }
};

/// The backend of one thread, statement by statement, element by element: the oracle of the others.
struct serial {
  static constexpr bool is_backend = true;

  template <std::size_t Count, class... S>
  void run(pass_plan<Count> const& plan, int pass, detail::pack<S...> const& statements, frame f, bool merged,
           result_pointers<S...> const& results) const {
    detail::for_statements(plan, pass, statements, [&]<std::size_t N>(auto const& lowered, std::integral_constant<std::size_t, N>) {
      auto const statement = lowered.rebuild(over_columns{});
      using Statement = std::remove_cvref_t<decltype(statement)>;
      if constexpr (detail::is_whole<Statement>) {
        return;
      } else if constexpr (detail::has_result<Statement>) {
        auto* const result = detail::part<N>(results);
        for (index_t k = 0; k < (merged ? 1 : f.items()); ++k) result[k] = Statement::identity();
        std::vector<typename Statement::accumulator_type> one(std::size_t(f.rhs), Statement::identity());
        for (index_t row = 0; row < (f.inner ? f.batch * f.rows : 0); ++row) {
          index_t const b = row / f.rows;
          for (auto& value : one) value = Statement::identity();
          statement.run(row_span{row * f.inner, f.inner, b * f.rhs, f.rhs}, one.data());
          for (index_t k = 0; k < f.rhs; ++k)
            Statement::monoid_type::fold(result[merged ? 0 : b * f.rhs + k], one[std::size_t(k)]);
        }
      } else {
        using T = std::remove_reference_t<decltype(statement.data[0])>;
        auto const write = [&](auto const& to) {
          for (index_t e = 0; e < f.total(); ++e) {
            index_t const row = e / f.rhs;
            to[e] = scalar_cast<T>(statement.x.at(element{e, row, row * f.rhs / (f.rows * f.inner) * f.rhs + e % f.rhs}));
          }
        };
        if constexpr (Statement::depth == reach::pointwise) return write(statement.data);
        std::vector<T> values(std::size_t(f.total()));  // an element may read others of its row
        write(values.data());
        for (index_t e = 0; e < f.total(); ++e) statement.data[e] = values[std::size_t(e)];
      }
    });
  }
};

/// What runs the passes of `fuse`: `openmp`, `serial`.
template <class B>
concept Backend = requires { B::is_backend; };

namespace detail {
/// The frame of a space or pass as its backend counts items: those of a list are not those of its packed frame.
template <Backend B>
frame by_items(B const& backend, frame f) {
  if constexpr (requires { backend.by_items(f); })
    return backend.by_items(f);
  else
    return f;
}
} // namespace detail

} // namespace sla
