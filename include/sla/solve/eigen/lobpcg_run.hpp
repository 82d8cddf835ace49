// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop of LOBPCG over a space: residuals, preconditioned directions, Rayleigh-Ritz in [X P W]. The options, and the name, are in lobpcg.hpp.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include <sla/solve/eigen/block_algebra.hpp>

namespace sla::detail {
/// A block with its images: B V is V itself where there is no B.
template <class Block, bool HasB>
struct imaged_block {
  Block V, AV;
  std::optional<Block> own_BV = {};

  Block& BV() {
    if constexpr (HasB)
      return *own_BV;
    else
      return V;
  }
  index_t columns() const { return width_of(V); }
};

/// One run of LOBPCG: Z = [X P] and W, whose columns are B-orthonormal. It is compiled once for all preconditioners.
template <int Most, class Space, class A, class B, class Block>
class lobpcg_run {
  using T = typename Block::value_type;
  using Real = real_t<T>;
  using W = small_scalar<T>;
  using Dense = small_dense<W>;
  static constexpr bool has_b = !std::same_as<B, applied_identity>;
  using Imaged = imaged_block<Block, has_b>;

public:
  using applied = std::function<void(Block const& r, Block& w)>;  ///< w = M r

  lobpcg_run(Space& space, A const& a, B const& b, applied m, std::function<double(double)> key, int k, double rtol)
      : space_(space), a_(a), b_(b), m_(std::move(m)), key_(std::move(key)), k_(k), rtol_(rtol) {}

  /// All vectors are to be orthogonal, in B, to the columns of Y.
  void constrain_to(Block const& Y) {
    pattern_.emplace(Y);
    Block columns = orthonormal(Y);
    Imaged y{std::move(columns), room(1)};
    if constexpr (has_b) {
      y.own_BV.emplace(room(width_of(y.V)));
      fuse(space_, set(*y.own_BV, b_ * y.V));
      space_.finish();
    }
    y_.emplace(std::move(y));
  }
  /// Begins with the columns of X.
  eigen_found<Real, Block> run(Block X, int max_iterations, observer const& watch) {
    index_t const b = begin(std::move(X));
    bool fresh = true;  // AZ is a product of A, not a combination of such
    int refreshed = -1, since_best = 0;
    double best = std::numeric_limits<double>::infinity(), sum_before = 0;
    for (;;) {
      auto const active = residuals(b);
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
        found_.reason = reason::running;
        refresh(b);
        fresh = true, refreshed = found_.iterations;
        continue;
      }
      double const sum = values_.head(wanted_pairs()).sum();  // residuals may rise while values still fall
      since_best = worst < 0.9 * best || std::abs(sum - sum_before) > 1e-6 * std::abs(sum) ? 0 : since_best + 1;
      best = (std::min)(best, worst), sum_before = sum;
      if (found_.iterations >= max_iterations || since_best > 100) {
        found_.reason = found_.iterations >= max_iterations ? reason::iteration_limit : reason::stagnated;
        break;
      }
      if (!directions(b, active)) {  // the basis has no room for more
        found_.reason = fresh ? reason::stagnated : reason::running;
        if (fresh) break;
        refresh(b);
        fresh = true;
        continue;
      }
      ++found_.iterations;
      if (!step(b, active)) {
        refresh(b);
        fresh = true;
        continue;
      }
      fresh = false;
    }
    if (found_.reason != reason::converged && !fresh) refresh(b), (void)residuals(b);
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
  Imaged imaged(index_t columns) const {
    Imaged out{room(columns), room(columns)};
    if constexpr (has_b) out.own_BV.emplace(room(columns));
    return out;
  }
  void multiply(Imaged& z) {
    fuse(space_, set(z.AV, a_ * z.V));
    if constexpr (has_b) fuse(space_, set(z.BV(), b_ * z.V));
    found_.products += z.columns();
  }
  static void require_definite(bool is_definite) {
    if (has_b && !is_definite)
      throw value_error("eigsh(A, B, k, ...): B is not positive definite: (v, B v) is negative for some v; of a definite A and an indefinite B the problem B v = (1/w) A v is one");
  }

  /// Orthonormal X from what is given, smoothed by M, and its Ritz pairs. Returns its columns.
  index_t begin(Block given) {
    pattern_.emplace(std::move(given));
    Block start = room(width_of(*pattern_));
    precondition(*pattern_, start);
    start = orthonormal(std::move(start));
    index_t const b = width_of(start);
    z_.emplace(imaged(b));
    z_->V = std::move(start);
    multiply(*z_);
    auto [aa] = fuse(space_, gram_of<Most>(z_->AV, z_->AV));
    auto const squares = down(aa, b, b);
    for (index_t j = 0; j < b; ++j) size_of_a_ = (std::max)(size_of_a_, std::sqrt(std::real(squares(j, j))));
    ritz_of_z(b);
    return b;
  }
  /// The same columns orthonormal, and orthogonal to the constraints: fewer, if they are dependent.
  Block orthonormal(Block start) {
    for (int twice = 0; twice < 2; ++twice) {
      constrain(start);
      index_t const columns = width_of(start);
      Block image = room(columns);
      fuse(space_, set(image, b_ * start));
      auto [g] = fuse(space_, gram_of<Most>(start, image));
      auto const made = orthonormal_from<W>(down(g, columns, columns), [](index_t) { return 0.0; });
      require_definite(made.is_definite);
      if (made.C.cols() == 0) throw value_error("eigsh: nothing to begin with: the vectors to begin with, or to be orthogonal to, are zeros or no numbers, or what is orthogonal to the latter is nothing");
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
    auto [h] = fuse(space_, gram_of<Most>(y_->BV(), V));
    fuse(space_, set(V, V - combine(y_->V, h, width_of(V))));
  }
  void precondition(Block const& r, Block& w) {
    if (m_) {
      m_(r, w);
      found_.applications += width_of(r);
    } else {
      fuse(space_, set(w, r));
    }
  }
  /// Rayleigh-Ritz in the columns of Z alone.
  void ritz_of_z(index_t b) {
    auto [h, g] = fuse(space_, gram_of<Most>(z_->V, z_->AV), gram_of<Most>(z_->V, z_->BV()));
    auto const made = rayleigh_ritz<W>(down(h, b, b), down(g, b, b), b, {}, key_);
    if (!made.is_done) {
      values_ = Eigen::VectorXd::Constant(b, std::numeric_limits<double>::quiet_NaN());
      return;
    }
    values_ = made.values;
    auto const c = up(made.X);
    for (Block* block : parts(*z_)) fuse(space_, set(*block, combine(*block, c, b)));
    space_.finish();
  }
  static auto parts(Imaged& z) {
    if constexpr (has_b)
      return std::array<Block*, 3>{&z.V, &z.AV, &*z.own_BV};
    else
      return std::array<Block*, 2>{&z.V, &z.AV};
  }
  /// X alone, with products anew.
  void refresh(index_t b) {
    Imaged x = imaged(b);
    fuse(space_, set(x.V, combine(z_->V, up(Dense::Identity(z_->columns(), b)), b)));
    space_.finish();
    z_.emplace(std::move(x));
    multiply(*z_);
    ritz_of_z(b);
  }

  /// R = A X - B X diag(w), the norms, and which columns go on.
  std::vector<index_t> residuals(index_t b) {
    index_t const z = z_->columns();
    Dense scaled = Dense::Zero(z, b);
    for (index_t j = 0; j < b; ++j) scaled(j, j) = values_[j];
    if (!r_ || width_of(*r_) != b) r_.emplace(room(b));
    auto const one = up(Dense::Identity(z, b)), by_values = up(scaled);
    auto [rr] = fuse(space_, set(*r_, combine(z_->AV, one, b) - combine(z_->BV(), by_values, b)), gram_of<Most>(*r_, *r_));
    Dense const squares = down(rr, b, b);
    Dense lengths = Dense::Identity(b, b);
    if constexpr (has_b) {
      auto [bb] = fuse(space_, gram_of<Most>(z_->BV(), z_->BV()));
      lengths = down(bb, b, b);
    }
    norms_.assign(std::size_t(b), 0), limits_ = norms_;
    std::vector<index_t> active;
    for (index_t j = 0; j < b; ++j) {
      double const size = std::abs(values_[j]) * std::sqrt(std::real(lengths(j, j)));
      norms_[std::size_t(j)] = std::sqrt(std::real(squares(j, j)));
      limits_[std::size_t(j)] = (std::max)(rtol_ * size, 4 * double(std::numeric_limits<Real>::epsilon()) * size_of_a_);
      if (!(norms_[std::size_t(j)] <= limits_[std::size_t(j)])) active.push_back(j);
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

  /// W = M R of the active columns, orthonormal, and orthogonal to Z once; false, if nothing is left of it.
  bool directions(index_t b, std::vector<index_t> const& active) {
    index_t const count = index_t(active.size()), z = z_->columns();
    auto const keep = [&](std::optional<Block>& block) -> Block& {  // memory is not asked for at each step
      if (!block || width_of(*block) != count) block.emplace(room(count));
      return *block;
    };
    Block& w = keep(raw_);
    if (count < b) {
      Dense chosen = Dense::Zero(b, count);
      for (index_t j = 0; j < count; ++j) chosen(active[std::size_t(j)], j) = 1;
      auto const c = up(chosen);
      Block& some = keep(some_);
      fuse(space_, set(some, combine(*r_, c, count)));
      precondition(some, w);
    } else {
      precondition(*r_, w);
    }
    constrain(w);
    if (!w_ || w_->columns() != count) space_.finish(), w_.emplace(imaged(count));
    auto [h] = fuse(space_, gram_of<Most>(z_->BV(), w));
    auto const less = w - combine(z_->V, h, count);
    auto [g] = [&] {
      if constexpr (has_b)
        return fuse(space_, set(w, less), set(w_->BV(), b_ * w), gram_of<Most>(w, w_->BV()));
      else
        return fuse(space_, set(w, less), gram_of<Most>(w, w));
    }();
    Dense const G = down(g, count, count), H = down(h, z, count);
    if (!G.allFinite()) return norms_.assign(norms_.size(), std::numeric_limits<double>::quiet_NaN()), false;
    double const rounding = double(std::numeric_limits<Real>::epsilon());
    auto const made = orthonormal_from<W>(G, [&](index_t j) { return 1e6 * rounding * rounding * H.col(j).squaredNorm(); });
    require_definite(made.is_definite);
    index_t const kept = made.C.cols();
    if (kept == 0) return false;
    if (kept != count) w_.emplace(imaged(kept));
    auto [again] = fuse(space_, set(w_->V, combine(w, up(made.C), kept)), gram_of<Most>(z_->BV(), w_->V));
    fuse(space_, set(w_->V, w_->V - combine(z_->V, again, kept)));
    constrain(w_->V);
    space_.finish();
    return true;
  }
  /// Rayleigh-Ritz in [Z W], and Z = [X P] from it; false, if the basis is dependent.
  bool step(index_t b, std::vector<index_t> const& active) {
    index_t const z = z_->columns(), w = w_->columns();
    if constexpr (has_b) fuse(space_, set(w_->BV(), b_ * w_->V));
    auto [zaw, waw, zaz, zbw, wbw, zbz] = fuse(space_, set(w_->AV, a_ * w_->V), gram_of<Most>(z_->V, w_->AV), gram_of<Most>(w_->V, w_->AV), gram_of<Most>(z_->V, z_->AV),
                                               gram_of<Most>(z_->V, w_->BV()), gram_of<Most>(w_->V, w_->BV()), gram_of<Most>(z_->V, z_->BV()));
    found_.products += w;
    auto const joined = [&](auto const& zz, auto const& zw, auto const& ww) {
      Dense out(z + w, z + w);
      out.topLeftCorner(z, z) = down(zz, z, z);
      out.topRightCorner(z, w) = down(zw, z, w);
      out.bottomRightCorner(w, w) = down(ww, w, w);
      out.bottomLeftCorner(w, z) = out.topRightCorner(z, w).adjoint();
      return Dense(0.5 * (out + out.adjoint()));
    };
    auto const made = rayleigh_ritz<W>(joined(zaz, zaw, waw), joined(zbz, zbw, wbw), b, active, key_);
    if (!made.is_done) return false;
    values_ = made.values;
    index_t const next = b + made.P.cols();
    Dense all(z + w, next);
    all << made.X, made.P;
    auto const from_z = up(Dense(all.topRows(z))), from_w = up(Dense(all.bottomRows(w)));
    if (!next_ || next_->columns() != next) next_.emplace(imaged(next));
    auto const to = parts(*next_), of_z = parts(*z_), of_w = parts(*w_);
    for (std::size_t n = 0; n < to.size(); ++n) fuse(space_, set(*to[n], combine(*of_z[n], from_z, next) + combine(*of_w[n], from_w, next)));
    space_.finish();
    std::swap(z_, next_);
    return true;
  }

  eigen_found<Real, Block> finish(index_t b) {
    index_t const k = (std::min)(index_t(k_), b);
    Block out = room(k);
    fuse(space_, set(out, combine(z_->V, up(Dense::Identity(z_->columns(), k)), k)));
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
  std::function<double(double)> key_;
  int k_;
  double rtol_, size_of_a_ = 0;
  struct {
    sla::reason reason = sla::reason::running;
    int iterations = 0;
    index_t products = 0, applications = 0;
  } found_;
  std::optional<Block> pattern_, r_, raw_, some_;
  std::optional<Imaged> z_, next_, w_, y_;
  Eigen::VectorXd values_;
  std::vector<double> norms_, limits_;
};

} // namespace sla::detail
