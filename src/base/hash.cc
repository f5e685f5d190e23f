#include "base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "base/hash64.h"

namespace plimsoll {

// XXH3 computes its 64-bit and its 128-bit hash from the same state.
struct Hasher::State {
  XXH3_state_t* xxh3 = XXH3_createState();
  State() { XXH3_128bits_reset(xxh3); }
  ~State() { XXH3_freeState(xxh3); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::add(const void* data, size_t bytes) {
  XXH3_128bits_update(state_->xxh3, data, bytes);
}

std::string Hasher::hex64() const {
  return fmt::format("{:016x}", XXH3_64bits_digest(state_->xxh3));
}

std::string Hasher::hex128() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh3);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

uint64_t hash64(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace plimsoll
