// Random tensors: Threefry-2x32 counter streams, one per device.
//
// A stream is a key (a word that depends on the order in which devices were first used, and the
// seed) and a 64-bit counter kept in the device's memory, so that a recorded program draws new
// numbers each time it is replayed. A draw of n 32-bit words takes the counter's value, derives its
// own key from it and advances the counter by n. Draws happen in program order, whenever and in
// whatever order they are realized; the same seed gives the same numbers.
// Threefry: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC'11. The streams are
// those of tinygrad for the same seed.
#ifndef TG_TENSOR_RANDOM_H_
#define TG_TENSOR_RANDOM_H_

#include <cstdint>

#include "tg/tensor/creation.h"
#include "tg/tensor/tensor.h"

namespace tg {

// Starts all streams anew, also for programs that were recorded before. Without it the seed comes
// from the clock.
void ManualSeed(uint64_t seed);

// Uniform in [0, 1), a float dtype.
Tensor Rand(const Shape& shape, const TensorOptions& options = {});
Tensor RandLike(const Tensor& x, const TensorOptions& options = {});
// Standard normal (Box-Muller, computed in float32).
Tensor Randn(const Shape& shape, const TensorOptions& options = {});
Tensor RandnLike(const Tensor& x, const TensorOptions& options = {});
// Integers in [low, high), int32 unless the options say otherwise.
Tensor RandInt(const Shape& shape, int64_t low, int64_t high, const TensorOptions& options = {});
Tensor Uniform(const Shape& shape, double low, double high, const TensorOptions& options = {});
Tensor Normal(const Shape& shape, double mean, double std, const TensorOptions& options = {});
// Initialisers: uniform in +-1/sqrt(number of elements); Glorot; He (fan in is the product of all
// sizes but the first).
Tensor ScaledUniform(const Shape& shape, const TensorOptions& options = {});
Tensor GlorotUniform(const Shape& shape, const TensorOptions& options = {});
Tensor KaimingUniform(const Shape& shape, double a = 0.01, const TensorOptions& options = {});
Tensor KaimingNormal(const Shape& shape, double a = 0.01, const TensorOptions& options = {});
// A permutation of 0 .. n-1, int32 (Sort of random floats: quadratic in n).
Tensor RandPerm(int64_t n, const TensorOptions& options = {});
// Indices drawn with the probabilities weights / sum(weights), int32. weights is (n) or (rows, n).
Tensor Multinomial(const Tensor& weights, int64_t samples, bool replacement);

// Runs the pending updates of all streams' keys and counters. A Jit calls it before it captures, so
// that draws from before are not recorded, and before it replays, so that they count.
void FlushRandomState();

}  // namespace tg

#endif  // TG_TENSOR_RANDOM_H_
