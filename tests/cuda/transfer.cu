// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Moving tensors to the device and back, device memory, and streams.
#include <cstdint>

#include "device.cuh"

using namespace on_device;

int main() {
  return run([] {
    auto const x = random<std::complex<double>, Extents<dyn, 3>>({1001, 3}, 1);
    expect(same_bits(x, down(up(x))), "a tensor comes back as it left");
    auto const copy = up(up(x));
    expect(same_bits(x, down(copy)), "a copy on the device");
    vector<double> const empty;
    expect(down(up(empty)).size() == 0, "an empty tensor");

    auto const A = problems::poisson<double>({30, 40});
    auto const B = 2.0 * A;  // on the pattern of A
    auto const dA = up(A), dB = up(B);
    expect(dA.shared_pattern() == dB.shared_pattern(), "one pattern on the host is one on the device");
    auto const back = down(dA);
    expect(back.shared_pattern() == A.shared_pattern(), "a pattern comes back to the one it left");
    expect(std::equal(A.values().begin(), A.values().end(), back.values().begin()), "values come back as they left");
    auto const W = to<Dia>(A);
    auto const dW = up(W);
    vector<double> const y = random<double>(A.cols(), 2);
    vector<double> const Ay = A * y;
    expect(distance(Ay, down(vector<double, device_memory>(dW * up(y)))) <= 1e-14, "diagonals on the device");

    auto const& p = dA.pattern();
    auto const mine = cuda::borrow_csr(A.rows(), A.cols(), A.nnz(), p.row_ptr.data(), p.col.data(), dA.values().data());
    expect(distance(vector<double>(A * y), down(vector<double, device_memory>(mine * up(y)))) <= 1e-14, "CSR arrays of the user on the device");
    auto z = up(y);
    auto view = cuda::borrow(z.data(), z.size());
    view = 3.0 * view;
    expect(view.data() == std::as_const(z).data() && distance(vector<double>(3.0 * y), down(z)) <= 1e-15, "what is assigned to a borrowed array is written into it");

    auto const before = cuda::memory_in_use();
    {
      vector<double, device_memory> const large(Extents<dyn>(1 << 20));
      expect(cuda::memory_in_use().now == before.now + (std::size_t(8) << 20), "device memory is counted");
      expect(eval(norm(large)) == 0, "a new tensor is zero");
    }
    expect(cuda::memory_in_use().now == before.now, "and released");
    expect(refuses<unavailable_error>("bytes", [] { (void)device_memory::allocate(std::size_t(1) << 50); }), "too much memory is refused by a message");
    expect(eval(norm(up(y))) > 0, "the device works on after that");

    auto dy = up(y);
    {
      cuda::stream stream;
      cuda::use_stream use(stream);
      dy = 2.0 * dy + 1.0;
      dy = dA * dy;
    }
    vector<double> const expected = A * (2.0 * y + 1.0);
    expect(distance(expected, down(dy)) <= 1e-13, "work moves from stream to stream in order");
    expect(refuses<error>("cudaMemcpy failed: cudaErrorInvalidValue", [] { cuda::check(cudaErrorInvalidValue, "cudaMemcpy"); }), "errors name the call");
  });
}
