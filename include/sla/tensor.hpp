// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to tensors at rest: storage, assembly, conversion, model problems, properties, files.
#pragma once

#include <sla/tensor/add.hpp>
#include <sla/tensor/block.hpp>
#include <sla/tensor/borrow.hpp>
#include <sla/tensor/build.hpp>
#include <sla/tensor/cat.hpp>
#include <sla/tensor/components.hpp>
#include <sla/tensor/convert.hpp>
#include <sla/tensor/dense.hpp>
#include <sla/tensor/diagonal.hpp>
#include <sla/tensor/entries.hpp>
#include <sla/tensor/kron.hpp>
#include <sla/tensor/masked.hpp>
#include <sla/tensor/matrix_market.hpp>
#include <sla/tensor/matrix_market_write.hpp>
#include <sla/tensor/multiply.hpp>
#include <sla/tensor/ordering.hpp>
#include <sla/tensor/permute.hpp>
#include <sla/tensor/print.hpp>
#include <sla/tensor/problems.hpp>
#include <sla/tensor/properties.hpp>
#include <sla/tensor/random_problems.hpp>
#include <sla/tensor/slice.hpp>
#include <sla/tensor/sparse.hpp>
#include <sla/tensor/sparse_list.hpp>
#include <sla/tensor/spy.hpp>
#include <sla/tensor/transpose.hpp>
#include <sla/tensor/wave_problems.hpp>

#if __has_include(<sla_instances/tensor.hpp>)  // of the component `instances`: what is compiled already
#include <sla_instances/tensor.hpp>
#endif
