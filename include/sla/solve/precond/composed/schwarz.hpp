// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Additive Schwarz with overlap, from any preconditioner of a host matrix (Dryja and Widlund 1987; restricted: Cai and Sarkis
// 1999; Saad, Iterative Methods for Sparse Linear Systems, section 14.3). Subdomains of ranks: dist/solve/schwarz_on_ranks.hpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/precond/composed/subdomain.hpp>
#include <sla/solve/precond/sweep.hpp>
#include <sla/solve/seam/method.hpp>
#include <sla/solve/seam/numbered_error.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/cuts.hpp>

namespace sla {

/// How rows are split among subdomains: `schwarz(ilu0{}, {.parts = 8, .overlap = 1})`.
struct schwarz_options {
  int parts = 0;                 ///< subdomains; 0: one per thread of the host, or one per rank
  int overlap = 1;               ///< layers of A's graph that a subdomain has besides its own rows
  bool restricted = false;       ///< only its own rows of a subdomain's result count
  std::vector<int> owner = {};   ///< the subdomain that owns each row; none: strips of equal work
};

namespace detail {
/// Subdomains of the rows of one pattern: each with its rows, ascending, and where each row is.
template <class F>
struct subdomains {
  using Pattern = typename F::template pattern<host_memory>;
  struct place {
    index_t part, row;
  };

  std::shared_ptr<Pattern const> pattern;
  std::vector<std::vector<index_t>> rows;
  std::vector<pattern_map<csr_for_t<F>>> squares;
  std::vector<index_t> first{0};  ///< of each subdomain's rows among those of all
  std::vector<index_t> ptr;       ///< row j is at places[ptr[j]], its owner's, to places[ptr[j + 1]]
  std::vector<place> places;

  index_t parts() const { return index_t(rows.size()); }
  bool owns(index_t part, index_t row) const { return places[std::size_t(ptr[std::size_t(row)])].part == part; }

  subdomains(std::shared_ptr<Pattern const> of, schwarz_options const& o) : pattern(std::move(of)) {
    auto const owner = owners(o);
    for (std::size_t j = 0; j < owner.size(); ++j) rows[std::size_t(owner[j])].push_back(index_t(j));
    squares.resize(rows.size());
    auto const view = pattern->view();
    for_batch_items(parts(), [&](index_t i) {
      auto& mine = rows[std::size_t(i)];
      auto layer = mine;
      for (int k = 0; k < o.overlap && !layer.empty(); ++k) {
        std::vector<index_t> reached;
        for (index_t j : layer) view.for_row(j, [&](index_t, index_t column) { reached.push_back(column); });
        layer = outside_of(mine, std::move(reached));
        mine = merged(mine, layer);
      }
      squares[std::size_t(i)] = square_of<csr_for_t<F>>(mine, [&](index_t k, auto const& f) { view.for_row(mine[std::size_t(k)], f); });
    });
    for (auto const& mine : rows) first.push_back(first.back() + index_t(mine.size()));
    find_places(owner);
  }

private:
  /// Errors: numbers that are no partition of the rows.
  std::vector<int> owners(schwarz_options const& o) {
    index_t const n = pattern->rows;
    if (n != pattern->cols) throw shape_error(text("schwarz: A is ", n, " x ", pattern->cols, ", and must be square"));
    if (o.overlap < 0 || o.parts < 0)
      throw value_error(text("schwarz(..., {.parts = ", o.parts, ", .overlap = ", o.overlap, "}): both are at least 0"));
    if (o.parts > 0 && o.parts > n)
      throw value_error(text("schwarz(..., {.parts = ", o.parts, "}): A has ", n, " rows; give at most as many subdomains"));
    if (!o.owner.empty() && index_t(o.owner.size()) != n)
      throw shape_error(text("schwarz(..., {.owner}): ", o.owner.size(), " owners for ", n, " rows; give one for each row"));
    int parts = o.parts;
    if (parts == 0)
      parts = o.owner.empty() ? int((std::max)(index_t(1), (std::min)(index_t(threads_in_use()), n)))
                              : *std::max_element(o.owner.begin(), o.owner.end()) + 1;
    for (std::size_t j = 0; j < o.owner.size(); ++j)
      if (o.owner[j] < 0 || o.owner[j] >= parts)
        throw index_error(text("schwarz(..., {.owner}): the owner of row ", j, " is ", o.owner[j], ", and must be at least 0 and less than ", parts));
    rows.resize(std::size_t(parts));
    if (!o.owner.empty()) return o.owner;
    std::vector<int> out;
    auto const cuts = equal_work_cuts(pattern->view(), parts);
    for (int i = 0; i < parts; ++i) out.insert(out.end(), std::size_t(cuts[std::size_t(i) + 1] - cuts[std::size_t(i)]), i);
    return out;
  }
  void find_places(std::vector<int> const& owner) {
    ptr.assign(owner.size() + 1, 0);
    for (auto const& mine : rows)
      for (index_t j : mine) ++ptr[std::size_t(j) + 1];
    for (std::size_t j = 0; j < owner.size(); ++j) ptr[j + 1] += ptr[j];
    places.resize(std::size_t(ptr.back()));
    std::vector<index_t> next(owner.size());
    for (std::size_t j = 0; j < owner.size(); ++j) next[j] = ptr[j] + 1;
    for (index_t i = 0; i < parts(); ++i)
      for (std::size_t k = 0; k < rows[std::size_t(i)].size(); ++k) {
        auto const j = std::size_t(rows[std::size_t(i)][k]);
        places[std::size_t(owner[j] == i ? ptr[j] : next[j]++)] = {i, index_t(k)};
      }
  }
};

/// What a report says of it: " of ilu0, 8 parts, overlap 1, restricted".
template <class Inner>
std::string schwarz_remark(Inner const&, schwarz_options const& o, index_t parts) {
  return text(" of ", name_of_options<Inner>, ", ", parts, parts == 1 ? " part" : " parts", ", overlap ", o.overlap, o.restricted ? ", restricted" : "");
}

/// f(), whose errors say of which subdomain they are, and name rows of A where they can: row(k) is that of row k of the subdomain.
template <class S, class Described, class Row, class F>
auto with_subdomain(Described const& described, Row const& row, F const& f) {
  auto const told = [&](error const& e) { return text(e.what(), " (", described(), ", whose rows are counted from 0)"); };
  try {
    return f();
  } catch (numbered_error const& e) {
    throw value_error(text(e.words().with(S::block_rows, S::block_cols, row, row), " (", described(), ')'));
  } catch (value_error const& e) {
    throw value_error(told(e));
  } catch (shape_error const& e) {
    throw shape_error(told(e));
  }
}

/// Is an operator that changes from step to step, if the inner one is.
template <class Inner>
struct varying_as {};
template <class Inner>
  requires requires { typename Inner::varying_tag; }
struct varying_as<Inner> {
  using varying_tag = void;
};

/// z = sum of R_i^T M_i R_i r, where R_i picks the rows of a subdomain. With own_in (own_out) the right (left) one keeps the rows
/// that the subdomain owns and has zeros elsewhere.
template <class Layout, class M, class S, bool HasRhs>
struct schwarz_view {
  Layout const* all;
  M const* inner;
  S shape;  ///< of the whole matrix
  bool own_in, own_out;

  template <bool, class X, class Out>
  void sweep(X const* x, Out* out, index_t rhs) const {
    index_t const batch = shape.batch_count(), n = shape.rows(), width = S::block_rows * rhs, each = batch * width;
    buffer<X> from(all->first.back() * each, uninitialized), to(from.size(), uninitialized);
    for_batch_items(all->parts(), [&](index_t i) {
      auto const& rows = all->rows[std::size_t(i)];
      index_t const count = index_t(rows.size());
      X* const r = from.data() + all->first[std::size_t(i)] * each;
      for (index_t b = 0; b < batch; ++b)
        for (index_t k = 0; k < count; ++k) {
          index_t const j = rows[std::size_t(k)];
          bool const reads = !own_in || all->owns(i, j);
          for (index_t w = 0; w < width; ++w) r[(b * count + k) * width + w] = reads ? x[(b * n + j) * width + w] : X{};
        }
      apply_where_it_lies<HasRhs>(inner[i], S(shape.batch(), count, count), r, to.data() + all->first[std::size_t(i)] * each, rhs);
    }, 4 * from.size());  // entries per row, or more
    parallel_ranges(n, [&, z = static_cast<X const*>(to.data())](index_t lo, index_t hi) {
      for (index_t j = lo; j < hi; ++j) {
        index_t const first = all->ptr[std::size_t(j)], last = own_out ? first + 1 : all->ptr[std::size_t(j) + 1];
        for (index_t b = 0; b < batch; ++b)
          for (index_t w = 0; w < width; ++w) {
            X total{};
            for (index_t s = first; s < last; ++s) {
              auto const [part, row] = all->places[std::size_t(s)];
              index_t const before = all->first[std::size_t(part)], count = all->first[std::size_t(part) + 1] - before;
              total = total + z[before * each + (b * count + row) * width + w];
            }
            out[(b * n + j) * width + w] = scalar_cast<Out>(total);
          }
      }
    });
  }
};
} // namespace detail

/// `M * r` by subdomains; M.adjoint() * r. Made by `schwarz(inner).setup(A)`. M is what a subdomain has.
template <class M, class T, class S, class F>
class applied_schwarz {
  using Open = detail::open_shape_t<S>;
  using Layout = detail::subdomains<F>;

public:
  using value_type = T;
  using shape_type = S;

  applied_schwarz(std::shared_ptr<Layout const> layout, std::vector<M> inner, Open shape, bool own_in, bool own_out, std::string remark)
      : layout_(std::move(layout)), inner_(std::move(inner)), shape_(shape), own_in_(own_in), own_out_(own_out), remark_(std::move(remark)) {}

  /// The adjoint of the restricted sum reads own rows and adds all: additive Schwarz with harmonic extension (Cai and Sarkis).
  auto adjoint() const
    requires detail::HasAdjoint<M>
  {
    using Adjoint = decltype(std::declval<M const&>().adjoint());
    std::vector<Adjoint> inner;
    for (M const& m : inner_) inner.push_back(m.adjoint());
    return applied_schwarz<Adjoint, T, S, F>(layout_.shared(), std::move(inner), shape_, own_out_, own_in_, remark_);
  }

  /// New values on the same pattern. Where this throws, all is as before. Errors: shape_error for another pattern.
  void update(sparse_tensor<T, S, F> const& A) {
    if (!same_pattern(*layout_->pattern, A.pattern()))
      throw shape_error("schwarz: update(A) takes another pattern than that of the set-up; set up anew");
    auto next = inner_;
    each_square(A, *layout_, [&](index_t i, auto const& square) { next[std::size_t(i)].update(square); });
    inner_ = std::move(next);
    shape_ = Open(A.shape().batch(), A.rows(), A.cols());
  }

  index_t parts() const { return layout_->parts(); }
  /// The rows of a subdomain, ascending, and its preconditioner.
  std::vector<index_t> const& rows(index_t part) const { return layout_->rows[std::size_t(part)]; }
  M const& inner(index_t part) const { return inner_[std::size_t(part)]; }
  Open const& shape() const { return shape_; }
  /// What a report adds to the name.
  std::string const& remark() const { return remark_; }

  template <bool HasRhs>
  auto view() const {
    return detail::schwarz_view<Layout, M, Open, HasRhs>{layout_.get(), inner_.data(), shape_, own_in_, own_out_};
  }

  /// f(i, the square of subdomain i) for all, shared between threads. Errors of f name the subdomain.
  template <class Each>
  static void each_square(sparse_tensor<T, S, F> const& A, Layout const& layout, Each const& f) {
    detail::for_batch_items(layout.parts(), [&](index_t i) {
      auto const& map = layout.squares[std::size_t(i)];
      auto values = detail::gathered_blocks<sparse_tensor<T, S, F>::block_size>(A.values().data(), A.batch_stride(), map.source, A.batch_count());
      index_t const n = map.pattern->rows;
      sparse_tensor<T, Open, csr_for_t<F>> const square(Open(A.shape().batch(), n, n), map.pattern, std::move(values));
      auto const& rows = layout.rows[std::size_t(i)];
      auto const described = [&] { return text("of subdomain ", i, " of ", layout.parts(), ", of ", n, " rows from ", n > 0 ? rows[0] : 0); };
      detail::with_subdomain<S>(described, [&](index_t k) { return rows[std::size_t(k)]; }, [&] { return f(i, square), 0; });
    });
  }

private:
  detail::held<Layout const, "a preconditioner"> layout_;
  std::vector<M> inner_;
  Open shape_;
  bool own_in_, own_out_;
  std::string remark_;
};

template <class M, class T, class S, class F, Tensorial X>
auto operator*(applied_schwarz<M, T, S, F> const& m, X&& x) {
  using XE = typename node_t<X>::extents_type;
  constexpr int rank = range_extents_t<S>::rank;
  index_t const elements = m.shape().batch_count() * m.shape().rows() * S::block_rows;
  return detail::swept<S, false>(m.template view<(XE::rank > rank)>(), elements, std::forward<X>(x), "schwarz");
}

/// `solve(A, b, cg{}, schwarz(ic0{}, {.parts = 8}))`: M = sum over subdomains of R_i^T M_i R_i, where R_i picks the rows of
/// subdomain i and M_i is the inner preconditioner of the square of its rows and columns; Hermitian where the inner ones are.
/// With `restricted`, a subdomain's result counts in the rows that it owns (RAS): fewer iterations, but not Hermitian, so take
/// gmres or bicgstab; its adjoint (ASH) restricts what is read instead. Overlap 0: no row is in two, block Jacobi.
/// Placement: with A's rows on ranks, a rank's subdomain is its own rows and `overlap` layers of its neighbours', whose values
/// are fetched at set-up and update; an application sends one halo, and its reverse unless restricted. The partition
/// takes the place of `parts` and `owner` then. Setup: one inner set-up per subdomain, shared between threads. Cost of an application: the inner ones,
/// shared between threads, and two copies of a vector.
/// Errors: value_error for parts or overlap below 0 or more parts than rows, index_error for an owner out of range; those of
/// the inner set-up, with the subdomain.
template <class Inner>
class schwarz : public detail::varying_as<Inner> {
  static_assert(requires { typename Inner::preconditioner_tag; },
                "sla: schwarz(inner, {...}): inner names a preconditioner by its options, such as ilu0{}; it is set up for each subdomain");

public:
  using preconditioner_tag = void;
  using spans_ranks_tag = void;
  static constexpr char const* name = "schwarz";

  Inner inner;
  schwarz_options options;

  explicit schwarz(Inner in, schwarz_options o = {}) : inner(std::move(in)), options(std::move(o)) {}

  template <class T, class S, class F>
  auto setup(sparse_tensor<T, S, F> const& A) const {
    using Open = detail::open_shape_t<S>;
    using M = decltype(inner.setup(std::declval<sparse_tensor<T, Open, csr_for_t<F>> const&>()));
    using Applied = applied_schwarz<M, T, S, F>;
    static_assert(S::block_rows == S::block_cols, "sla: schwarz wants a square matrix: square blocks too");
    auto const layout = detail::shared_of<detail::subdomains<F> const>(A.shared_pattern(), options);
    std::vector<std::optional<M>> made(std::size_t(layout->parts()));
    Applied::each_square(A, *layout, [&](index_t i, auto const& square) { made[std::size_t(i)].emplace(inner.setup(square)); });
    std::vector<M> all;
    for (auto& m : made) all.push_back(std::move(*m));
    return Applied(layout, std::move(all), Open(A.shape().batch(), A.rows(), A.cols()), false, options.restricted,
                   detail::schwarz_remark(inner, options, layout->parts()));
  }
  /// Of a matrix of a higher floor.
  template <class A>
    requires Performs<op::setup, schwarz const&, A const&>
  auto setup(A const& a) const {
    return perform(op::setup{}, *this, a);
  }
};

} // namespace sla
