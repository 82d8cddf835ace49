// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop of LOBPCG over a space: residuals, preconditioned directions, Rayleigh-Ritz in [X P W]. The options, and the name, are in lobpcg.hpp.
#pragma once

#include <functional>
#include <optional>

#include <sla/solve/eigen/block_algebra.hpp>

namespace sla::detail {
/// One run of LOBPCG: Z = [X P] has B-orthonormal columns, W the preconditioned residuals. Images under A and B are products, made anew where they are
/// read: a product with a sparse matrix takes less than a combination of as many columns, and no memory. It is compiled once for all preconditioners.
template <int Most, class Space, class A, class B, class Block>
class lobpcg_run {
  using T = typename Block::value_type;
  using Real = real_t<T>;
  using W = small_scalar<T>;
  using Dense = small_dense<W>;
  using Columns = std::vector<index_t>;
  static constexpr bool has_b = !std::same_as<B, applied_identity>;
  static constexpr double rounding = double(std::numeric_limits<Real>::epsilon());

public:
  using applied = std::function<void(Block const& r, Block& w)>;  ///< w = M r
  using order = std::function<dependent_t<double, A>(double)>;    ///< less of a value that is wanted before another

  lobpcg_run(Space& space, A const& a, B const& b, applied m, order key, int k, double rtol)
      : space_(space), a_(a), b_(b), m_(std::move(m)), key_(std::move(key)), k_(k), rtol_(rtol) {}

  /// All vectors are to be orthogonal, in B, to the columns of Y.
  void constrain_to(Block const& Y) {
    pattern_.emplace(Y);
    y_ = orthonormal(Y);
    require_some(y_);
    if constexpr (has_b) {
      by_.emplace(room(width_of(*y_)));
      fuse(space_, set(*by_, b_ * *y_));
      space_.finish();
    }
  }
  /// Begins with the columns of X.
  eigen_found<Real, Block> run(Block X, int max_iterations, observer const& watch) {
    index_t const b = begin(std::move(X));
    Columns active = all_of(b);
    bool fresh = true;  // Z is X alone, whose inner products are new
    int refreshed = -1, since_best = 0;
    double best = std::numeric_limits<double>::infinity(), lowest = best, sum_before = 0;
    auto const begin_anew = [&] { refresh(b), active = all_of(b), fresh = true; };
    for (;;) {
      active = residuals(active);
      double const worst = worst_wanted();
      if (!(worst - worst == 0)) {
        found_.reason = reason::not_a_number;
        break;
      }
      if (watch && !watch(progress_of())) {
        found_.reason = reason::stopped;
        break;
      }
      if (active.empty() || done()) {
        found_.reason = reason::converged;
        if (fresh || refreshed == found_.iterations) break;
        found_.reason = reason::running, refreshed = found_.iterations;
        begin_anew();
        continue;
      }
      double const sum = values_.head(wanted_pairs()).sum();  // residuals may rise while values still fall
      since_best = worst < 0.9 * best || std::abs(sum - sum_before) > 1e-6 * std::abs(sum) ? 0 : since_best + 1;
      best = (std::min)(best, worst), sum_before = sum;
      lowest = fresh ? worst : (std::min)(lowest, worst);
      if (worst > 100 * lowest && worst < 1e6) {  // beside more equal values than the block has, directions of the steps before fill with these
        begin_anew();
        continue;
      }
      if (found_.iterations >= max_iterations || since_best > 100) {
        found_.reason = found_.iterations >= max_iterations ? reason::iteration_limit : reason::stagnated;
        break;
      }
      if (!directions(active)) {  // the basis has no room for more
        found_.reason = fresh ? reason::stagnated : reason::running;
        if (fresh) break;
        begin_anew();
        continue;
      }
      ++found_.iterations;
      if (step(b, active))
        fresh = false;
      else
        begin_anew();
    }
    if (found_.reason != reason::converged && !fresh) refresh(b), (void)residuals(all_of(b));
    return finish(b);
  }

private:
  template <class C>
  auto up(C const& c) {
    return coefficients_in<T, Most>(space_, c);
  }
  template <class G>
  Dense down(G const& g, index_t rows, index_t cols) {
    return dense_part<W>(read_one(space_, g), rows, cols);
  }
  Block room(index_t columns) const { return block_like<T>(*pattern_, columns); }
  /// A block of so many columns, in the memory that is there if it is that of as many: memory is not asked for at each step.
  Block& keep(std::optional<Block>& block, index_t columns) {
    if (!block || width_of(*block) != columns) space_.finish(), block.reset(), block.emplace(room(columns));
    return *block;
  }
  static Columns all_of(index_t b) {
    Columns out;
    for (index_t j = 0; j < b; ++j) out.push_back(j);
    return out;
  }
  /// The matrix that picks these columns of `rows`, each times its number of `scale`, if there are such.
  static Dense picked(index_t rows, Columns const& columns, double const* scale = nullptr) {
    Dense out = Dense::Zero(rows, index_t(columns.size()));
    for (std::size_t j = 0; j < columns.size(); ++j) out(columns[j], index_t(j)) = scale ? scale[columns[j]] : 1.0;
    return out;
  }
  /// B v in `to`; v itself, where there is no B.
  Block const& image(Block const& v, [[maybe_unused]] std::optional<Block>& to) {
    if constexpr (has_b) {
      Block& out = keep(to, width_of(v));
      fuse(space_, set(out, b_ * v));
      return out;
    } else {
      return v;
    }
  }
  /// Errors: value_error, if the least (v, B v) is negative.
  void require_definite(double least) const {
    if (has_b && least < 0) throw_not_definite("a vector v of iteration ", found_.iterations, " has (v, B v) = ", least);
  }

  /// Orthonormal X from what is given, smoothed by M, and its Ritz pairs. Returns its columns.
  index_t begin(Block given) {
    pattern_.emplace(std::move(given));
    Block start = room(width_of(*pattern_));
    precondition(*pattern_, start);
    z_ = orthonormal(std::move(start));
    if (!z_ || width_of(*z_) < width_of(*pattern_)) {  // M has left dependent columns
      bool const has_none = !z_;
      z_.reset();
      z_ = orthonormal(*pattern_);
      require_some(z_);
      if (has_none && m_)
        throw value_error("eigsh: of random vectors the preconditioner makes zeros, NaN, or numbers whose squares are out of range; give one that is positive definite, or none");
    }
    index_t const b = width_of(*z_);
    measure();
    auto [aa] = fuse(space_, gram_of<Most>(*next_, *next_));
    auto const squares = down(aa, b, b);
    for (index_t j = 0; j < b; ++j) size_of_a_ = (std::max)(size_of_a_, std::sqrt(std::real(squares(j, j))));
    reach_ = size_of_a_;
    norms_.assign(std::size_t(b), 0), limits_ = norms_;
    ritz_of_z(b);
    return b;
  }
  static void require_some(std::optional<Block> const& v) {
    if (!v) throw value_error("eigsh: nothing to begin with: the vectors to begin with, or to be orthogonal to, are zeros or no numbers, or what is orthogonal to the latter is nothing");
  }
  /// The same columns orthonormal, and orthogonal to the constraints: fewer, if they are dependent, and none at all, if nothing is left.
  std::optional<Block> orthonormal(Block start) {
    for (int twice = 0; twice < 2; ++twice) {
      constrain(start);
      index_t const columns = width_of(start);
      auto [g] = fuse(space_, gram_of<Most>(start, image(start, bw_)));
      auto const made = orthonormal_from<W>(down(g, columns, columns), [](index_t) { return 0.0; });
      require_definite(made.least);
      if (made.C.cols() == 0) return std::nullopt;
      Block next = room(made.C.cols());
      fuse(space_, set(next, combine(start, up(made.C), made.C.cols())));
      space_.finish();
      start = std::move(next);
    }
    return start;
  }
  /// V -= Y (B Y)^H V
  void constrain(Block& V) {
    if (!y_) return;
    auto [h] = fuse(space_, gram_of<Most>(has_b ? *by_ : *y_, V));
    fuse(space_, set(V, V - combine(*y_, h, width_of(V))));
  }
  void precondition(Block const& r, Block& w) {
    if (m_) {
      m_(r, w);
      found_.applications += width_of(r);
    } else {
      fuse(space_, set(w, r));
    }
  }
  /// The inner products of the columns of Z in A and in B, by products.
  void measure() {
    index_t const z = width_of(*z_);
    Block& az = keep(next_, z);
    Block const& bz = image(*z_, bw_);
    auto [h, g] = fuse(space_, set(az, a_ * *z_), gram_of<Most>(*z_, az), gram_of<Most>(*z_, bz));
    found_.products += z;
    H_ = hermitian(down(h, z, z)), G_ = hermitian(down(g, z, z));
  }
  static Dense hermitian(Dense const& M) { return 0.5 * (M + M.adjoint()); }
  /// C^H M C
  static Dense within(Dense const& M, Dense const& C) { return hermitian(dense_adjoint_product<W>(C, dense_product<W>(M, C))); }
  /// Rayleigh-Ritz in the columns of Z alone.
  void ritz_of_z(index_t b) {
    auto const made = rayleigh_ritz<W>(H_, G_, b, {}, key_);
    if (!made.is_done) {
      values_ = small_values<W>::Constant(b, std::numeric_limits<double>::quiet_NaN());
      return;
    }
    values_ = made.values;
    fuse(space_, set(*z_, combine(*z_, up(made.X), b)));
    space_.finish();
    H_ = within(H_, made.X), G_ = within(G_, made.X);
  }
  /// X alone, with products anew.
  void refresh(index_t b) {
    Block x = room(b);
    fuse(space_, set(x, combine(*z_, up(Dense::Identity(width_of(*z_), b)), b)));
    space_.finish();
    z_.emplace(std::move(x));
    measure();
    ritz_of_z(b);
  }

  /// R = A X - B X diag(w) of these columns, their norms, and which of them go on. Others keep the norms that they had.
  Columns residuals(Columns const& columns) {
    index_t const z = width_of(*z_), count = index_t(columns.size());
    Block &x = keep(w_, count), &r = keep(r_, count);
    fuse(space_, set(x, combine(*z_, up(picked(z, columns)), count)));
    Block const& bx = image(x, bw_);
    small_values<W> w(count);
    for (index_t j = 0; j < count; ++j) w[j] = values_[columns[std::size_t(j)]];
    auto const by_values = up(picked(count, all_of(count), w.data()));
    auto [rr] = fuse(space_, set(r, a_ * x), set(r, r - combine(bx, by_values, count)), gram_of<Most>(r, r));
    found_.products += count;
    Dense const squares = down(rr, count, count);
    Dense lengths = Dense::Identity(count, count);
    if constexpr (has_b) {
      auto [bb] = fuse(space_, gram_of<Most>(bx, bx));
      lengths = down(bb, count, count);
    }
    Columns active;
    among_.clear();
    for (index_t j = 0; j < count; ++j) {
      std::size_t const at = std::size_t(columns[std::size_t(j)]);
      double const size = std::abs(w[j]) * std::sqrt(std::real(lengths(j, j)));
      norms_[at] = std::sqrt(std::real(squares(j, j)));
      limits_[at] = (std::max)(rtol_ * size, 8 * rounding * size_of_a_);
      if (!(norms_[at] <= limits_[at])) active.push_back(index_t(at)), among_.push_back(j);
    }
    return active;
  }
  bool done() const {
    for (index_t j = 0; j < wanted_pairs(); ++j)
      if (!(norms_[std::size_t(j)] <= limits_[std::size_t(j)])) return false;
    return true;
  }
  index_t wanted_pairs() const { return (std::min)(index_t(k_), index_t(norms_.size())); }
  /// The largest residual over its limit.
  double worst_wanted() const {
    double most = 0;
    for (index_t j = 0; j < wanted_pairs(); ++j) {
      double const ratio = norms_[std::size_t(j)] == 0 ? 0 : norms_[std::size_t(j)] / limits_[std::size_t(j)];
      if (!(ratio <= most)) most = ratio;
    }
    return most;
  }
  std::vector<progress> progress_of() const {
    std::vector<progress> out;
    for (index_t j = 0; j < wanted_pairs(); ++j) {
      std::size_t const at = std::size_t(j);
      out.push_back({norms_[at] <= limits_[at] ? reason::converged : reason::running, found_.iterations, rtol_ * norms_[at] / limits_[at]});
    }
    return out;
  }

  /// W = M R of the active columns and its inner products in B. Rayleigh and Ritz take a basis as it is; W is made orthonormal, and orthogonal to Z, only
  /// where it is so dependent that the rounding of that is not far below the residuals that are asked for. False, if nothing is left of it.
  bool directions(Columns const& active) {
    index_t const count = index_t(active.size()), z = width_of(*z_), of = width_of(*r_);
    if (count < of) {
      fuse(space_, set(keep(spare_, count), combine(*r_, up(picked(of, among_)), count)));
      space_.finish();
      std::swap(r_, spare_);
    }
    Block& w = keep(w_, count);
    precondition(*r_, w);
    constrain(w);
    Block const& bw = image(w, bw_);
    auto [h, g] = fuse(space_, gram_of<Most>(*z_, bw), gram_of<Most>(w, bw));
    zbw_ = down(h, z, count), wbw_ = hermitian(down(g, count, count));
    if (!wbw_.allFinite() || !zbw_.allFinite()) return norms_.assign(norms_.size(), std::numeric_limits<double>::quiet_NaN()), false;
    require_definite(count == 0 ? 0 : wbw_.diagonal().real().minCoeff());
    return is_fit(active) || orthonormalise(h);
  }
  /// May W be taken as it is?
  bool is_fit(Columns const& active) const {
    double least = std::numeric_limits<double>::infinity();
    for (index_t const j : active) least = (std::min)(least, limits_[std::size_t(j)]);
    small_values<W> const d = wbw_.diagonal().real().cwiseSqrt().cwiseInverse();
    if (!d.allFinite()) return false;
    Dense const apart = wbw_ - dense_adjoint_product<W>(zbw_, zbw_);
    auto const R = inverse_cholesky<W>(d.asDiagonal() * apart * d.asDiagonal(), 1e-5);
    return R && rounding * reach_ * R->rowwise().squaredNorm().maxCoeff() <= 0.01 * least;
  }
  template <class H>
  bool orthonormalise(H const& h) {
    Block& w = *w_;
    index_t const count = width_of(w);
    fuse(space_, set(w, w - combine(*z_, h, count)));
    auto [g] = fuse(space_, gram_of<Most>(w, image(w, bw_)));
    auto const made = orthonormal_from<W>(down(g, count, count), [&](index_t j) { return 1e6 * rounding * rounding * zbw_.col(j).squaredNorm(); });
    require_definite(made.least);
    index_t const kept = made.C.cols();
    if (kept == 0) return false;
    fuse(space_, set(keep(spare_, kept), combine(w, up(made.C), kept)));
    space_.finish();
    std::swap(w_, spare_);
    auto [again] = fuse(space_, gram_of<Most>(*z_, image(*w_, bw_)));
    fuse(space_, set(*w_, *w_ - combine(*z_, again, kept)));
    constrain(*w_);
    Block const& bw = image(*w_, bw_);
    auto [zbw, wbw] = fuse(space_, gram_of<Most>(*z_, bw), gram_of<Most>(*w_, bw));
    zbw_ = down(zbw, width_of(*z_), kept), wbw_ = hermitian(down(wbw, kept, kept));
    return true;
  }
  /// Rayleigh-Ritz in [Z W], and Z = [X P] from it; false, if the basis is dependent.
  bool step(index_t b, Columns const& active) {
    index_t const z = width_of(*z_), w = width_of(*w_);
    Block& aw = keep(r_, w);
    auto [zaw, waw] = fuse(space_, set(aw, a_ * *w_), gram_of<Most>(*z_, aw), gram_of<Most>(*w_, aw));
    found_.products += w;
    small_values<W> const d = wbw_.diagonal().real().cwiseSqrt().cwiseInverse();  // W diag(d) has columns of length 1
    auto const joined = [&](Dense const& zz, Dense const& zw, Dense const& ww) {
      Dense out(z + w, z + w);
      out << zz, zw * d.asDiagonal(), d.asDiagonal() * zw.adjoint(), d.asDiagonal() * ww * d.asDiagonal();
      return hermitian(out);
    };
    Dense const H = joined(H_, down(zaw, z, w), down(waw, w, w)), G = joined(G_, zbw_, wbw_);
    auto const made = rayleigh_ritz<W>(H, G, b, active, key_);
    if (!made.is_done) return false;
    values_ = made.values, reach_ = made.reach;
    index_t const next = b + made.P.cols();
    Dense all(z + w, next);
    all << made.X, made.P;
    H_ = within(H, all), G_ = within(G, all);
    fuse(space_, set(keep(next_, next), combine(*z_, up(Dense(all.topRows(z))), next) + combine(*w_, up(Dense(d.asDiagonal() * all.bottomRows(w))), next)));
    space_.finish();
    std::swap(z_, next_);
    if (found_.iterations % 16 == 0) measure();
    return true;
  }

  eigen_found<Real, Block> finish(index_t b) {
    index_t const k = (std::min)(index_t(k_), b);
    Block out = room(k);
    fuse(space_, set(out, combine(*z_, up(Dense::Identity(width_of(*z_), k)), k)));
    space_.finish();
    std::vector<Real> values;
    for (index_t j = 0; j < k; ++j) values.push_back(Real(values_[j]));
    bool cuts_cluster = false;
    if (b > k && k > 0) {  // of the next value an error of |r|^2 / |w| is allowed for
      double const w = values_[k - 1], next = values_[k], size = (std::max)(std::abs(w), std::abs(next));
      double const r = norms_[std::size_t(k)];
      cuts_cluster = std::abs(next - w) <= 100 * rtol_ * size + (size > 0 ? r * r / size : r);
    }
    return {std::move(values), std::move(out), found_.reason, found_.iterations, found_.products, found_.applications, "", "", "", int(b), cuts_cluster};
  }

  Space& space_;
  A const& a_;
  B const& b_;
  applied m_;
  order key_;
  int k_;
  double rtol_, size_of_a_ = 0, reach_ = 0;  ///< reach_: the largest |Ritz value| of the last basis
  struct {
    sla::reason reason = sla::reason::running;
    int iterations = 0;
    index_t products = 0, applications = 0;
  } found_;
  std::optional<Block> pattern_, y_, by_;
  std::optional<Block> z_, next_;            ///< [X P], and the next
  std::optional<Block> w_, r_, spare_, bw_;  ///< columns that go on: W, residuals or A W, and what is written beside them; images under B
  Dense H_, G_, zbw_, wbw_;                  ///< inner products in A and B of Z; in B of Z and W, and of W
  Columns among_;                            ///< where active columns are in R
  small_values<W> values_;
  std::vector<dependent_t<double, A>> norms_, limits_;
};

} // namespace sla::detail
