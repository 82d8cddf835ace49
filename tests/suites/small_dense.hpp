// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The small dense algebra of methods for eigenvalues, compiled once for all tests, in small_dense.cpp: optimised, for unoptimised and with sanitizers
// it took half the time of their tests.
#pragma once

#include <complex>
#include <optional>
#include <vector>

#include <sla/solve/eigen/krylov/small_dense.hpp>

#ifndef SLA_SMALL_DENSE
#define SLA_SMALL_DENSE extern template
#endif

namespace sla::detail {
SLA_SMALL_DENSE small_dense<double> dense_product<double>(small_dense<double> const&, small_dense<double> const&);
SLA_SMALL_DENSE small_dense<double> dense_adjoint_product<double>(small_dense<double> const&, small_dense<double> const&);
SLA_SMALL_DENSE hermitian_pairs<double> eigenpairs_of<double>(small_dense<double> const&);
SLA_SMALL_DENSE bool schur_form<double>(small_dense<double> const&, small_dense<double>&, small_dense<double>&);
SLA_SMALL_DENSE small_dense<std::complex<double>> eigenvector_of_schur<double>(small_dense<double> const&, index_t, std::complex<double>);
SLA_SMALL_DENSE dense_triplets<double> dense_triplets_of<double>(small_dense<double> const&);
SLA_SMALL_DENSE small_dense<double> solved<double>(small_dense<double>, small_dense<double>, double);
SLA_SMALL_DENSE std::optional<small_dense<double>> inverse_cholesky<double>(small_dense<double> const&, double);

SLA_SMALL_DENSE small_dense<std::complex<double>> dense_product<std::complex<double>>(small_dense<std::complex<double>> const&, small_dense<std::complex<double>> const&);
SLA_SMALL_DENSE small_dense<std::complex<double>> dense_adjoint_product<std::complex<double>>(small_dense<std::complex<double>> const&, small_dense<std::complex<double>> const&);
SLA_SMALL_DENSE hermitian_pairs<std::complex<double>> eigenpairs_of<std::complex<double>>(small_dense<std::complex<double>> const&);
SLA_SMALL_DENSE bool schur_form<std::complex<double>>(small_dense<std::complex<double>> const&, small_dense<std::complex<double>>&, small_dense<std::complex<double>>&);
SLA_SMALL_DENSE small_dense<std::complex<double>> eigenvector_of_schur<std::complex<double>>(small_dense<std::complex<double>> const&, index_t, std::complex<double>);
SLA_SMALL_DENSE dense_triplets<std::complex<double>> dense_triplets_of<std::complex<double>>(small_dense<std::complex<double>> const&);
SLA_SMALL_DENSE small_dense<std::complex<double>> solved<std::complex<double>>(small_dense<std::complex<double>>, small_dense<std::complex<double>>, double);
SLA_SMALL_DENSE std::optional<small_dense<std::complex<double>>> inverse_cholesky<std::complex<double>>(small_dense<std::complex<double>> const&, double);
} // namespace sla::detail
