// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to tensors at rest: storage, assembly, conversion, model problems, properties, files.
#pragma once

#include <sla/tensor/algebra/add.hpp>
#include <sla/tensor/algebra/diagonal.hpp>
#include <sla/tensor/algebra/kron.hpp>
#include <sla/tensor/algebra/masked.hpp>
#include <sla/tensor/algebra/multiply.hpp>
#include <sla/tensor/arrange/cat.hpp>
#include <sla/tensor/arrange/permute.hpp>
#include <sla/tensor/arrange/slice.hpp>
#include <sla/tensor/arrange/sparse_list.hpp>
#include <sla/tensor/arrange/transpose.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/borrow.hpp>
#include <sla/tensor/build/build.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/build/sell.hpp>
#include <sla/tensor/build/entries.hpp>
#include <sla/tensor/files/matrix_market.hpp>
#include <sla/tensor/files/matrix_market_write.hpp>
#include <sla/tensor/files/petsc.hpp>
#include <sla/tensor/files/print.hpp>
#include <sla/tensor/files/spy.hpp>
#include <sla/tensor/problems/problems.hpp>
#include <sla/tensor/problems/random_problems.hpp>
#include <sla/tensor/problems/wave_problems.hpp>
#include <sla/tensor/storage/dense.hpp>
#include <sla/tensor/storage/sparse.hpp>
#include <sla/tensor/structure/components.hpp>
#include <sla/tensor/structure/ordering.hpp>
#include <sla/tensor/structure/properties.hpp>

#if __has_include(<sla_instances/tensor.hpp>)  // of the component `instances`: what is compiled already
#include <sla_instances/tensor.hpp>
#endif
