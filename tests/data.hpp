// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the test matrices are: data("1138_bus.mtx").
#pragma once
#include <string>

inline std::string data(std::string const& file) { return std::string(SLA_TEST_DATA) + "/" + file; }
