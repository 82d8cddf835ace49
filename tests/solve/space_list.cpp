// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The methods call no more of a space than the concept `Space` lists.
#include <algorithm>
#include <utility>
#include <vector>

#include <sla/exec/deferred.hpp>
#include <sla/krylov.hpp>

#include "catch.hpp"

using sla::index_t;

namespace {
/// Another space behind the members that `Space` lists, and nothing else.
template <class Other>
class listed {
public:
  template <class T>
  using scalar_type = typename Other::template scalar_type<T>;

  explicit listed(Other& other) : other_(other) {}

  template <class T, class V>
  auto like(V const& x) {
    return other_.template like<T>(x);
  }
  template <class F, class... S>
  auto map(F const& f, S const&... scalars) {
    return other_.map(f, scalars...);
  }
  template <class T>
  auto scalar(std::vector<T> const& numbers) {
    return other_.scalar(numbers);
  }
  template <class S>
  auto peek(S const& s) {
    return other_.peek(s);
  }
  template <class S>
  auto read(S const& s) {
    return other_.read(s);
  }
  void finish() { other_.finish(); }
  index_t items() const { return other_.items(); }

  template <sla::Statement... S>
  friend auto fuse(listed& space, S const&... statements) {
    return sla::fuse(space.other_, statements...);
  }

private:
  Other& other_;
};

/// x and the progress of `method` in the space that is made of a layout, by itself or behind the list.
template <class Method, class B, class MakeSpace>
auto run(bool behind_list, Method const& method, sla::sparse_tensor<double> const& A, B const& b, MakeSpace const& make_space) {
  auto const M = sla::jacobi{}.setup(A);
  B x = 0.0 * b;
  auto space = make_space(sla::frame{1, A.rows(), b.size() / A.rows(), b.size() / A.rows()});
  sla::stop_maker const make_stop{{1e-10, 0, 200, {}}};
  std::vector<sla::progress> progress;
  if (behind_list) {
    listed<decltype(space)> list(space);
    static_assert(sla::Space<decltype(list), B> && !sla::ExecutionSpace<decltype(list)>);
    progress = method.run(list, A, M, b, x, make_stop);
  } else {
    progress = method.run(space, A, M, b, x, make_stop);
  }
  return std::pair(std::move(x), std::move(progress));
}
template <class Method, class B>
void compare(Method const& method, sla::sparse_tensor<double> const& A, B const& b) {
  auto const same = [&](auto const& make_space) {
    auto const [x, progress] = run(false, method, A, b, make_space);
    auto const [y, listed_progress] = run(true, method, A, b, make_space);
    CHECK(std::ranges::equal(x, y));
    REQUIRE(progress.size() == listed_progress.size());
    for (std::size_t k = 0; k < progress.size(); ++k) {
      CHECK(progress[k].state == sla::reason::converged);
      CHECK(progress[k].iterations == listed_progress[k].iterations);
    }
    CHECK(double(sla::eval(sla::norm(b - A * y))) < 1e-8 * double(sla::eval(sla::norm(b))));
  };
  constexpr bool many = B::extents_type::rank > 1;
  INFO(Method::name << (many ? ", several right-hand sides" : ""));
  same([](sla::frame f) { return sla::host_space<many>(f); });
  same([](sla::frame f) { return sla::deferred(f, 4); });
}
}  // namespace

TEST_CASE("methods need no more of a space than is listed: the same bits behind the list") {
  auto const A = sla::problems::convection_diffusion({12, 11}, 3.0), S = sla::problems::poisson({12, 11});
  auto const b = sla::random<double>(A.rows(), 7);
  auto const several = sla::random<double, sla::Extents<sla::dyn, 2>>({A.rows(), 2}, 8);
  compare(sla::cg{}, S, b), compare(sla::cg{}, S, several);
  compare(sla::minres{}, S, b), compare(sla::minres{}, S, several);
  compare(sla::bicgstab{}, A, b), compare(sla::bicgstab{}, A, several);
  compare(sla::gmres{}, A, b), compare(sla::gmres{}, A, several);
  compare(sla::fgmres{}, A, b), compare(sla::fgmres{}, A, several);
}
