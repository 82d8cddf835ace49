// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What many headers include from outside: compiled once for all wrong programs.
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <complex>
#include <concepts>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <variant>
#include <vector>
