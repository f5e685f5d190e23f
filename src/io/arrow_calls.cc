#include "io/arrow_calls.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "io/arrow_overflow.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

thread_local std::optional<BudgetExceeded> refusal;

int take_for_arrow(int64_t bytes) {
  // Only a request for 0 bytes reports an interruption, because Arrow may end the process if memory is
  // refused.
  if (bytes == 0 && interrupt_requested) return 1;
  try {
    if (ArrowOverflow::current() != nullptr) ArrowOverflow::raise_cap(bytes);
    Ledger::process().take(Tag::ingest, bytes);
    return 0;
  } catch (const BudgetExceeded& refused) {  // No exception may pass through Arrow.
    refusal = refused;
    return 1;
  }
}

void give_from_arrow(int64_t bytes) {
  Ledger::process().give(Tag::ingest, bytes);
  if (ArrowOverflow::current() != nullptr) ArrowOverflow::raise_cap(-bytes);
}

void* allocate_for_arrow(int64_t bytes, int64_t alignment) {
  if (ArrowOverflow* const overflow = ArrowOverflow::current()) return overflow->allocate(bytes);
  void* piece = nullptr;
  const auto aligned = static_cast<size_t>(std::max<int64_t>(alignment, sizeof(void*)));
  return ::posix_memalign(&piece, aligned, static_cast<size_t>(bytes)) == 0 ? piece : nullptr;
}

void release_from_arrow(void* piece, int64_t bytes) {
  ArrowOverflow* const overflow = ArrowOverflow::current();
  if (overflow != nullptr && overflow->has(piece))
    overflow->release(piece, bytes);
  else
    std::free(piece);
}

int64_t free_for_arrow() {
  const Ledger& ledger = Ledger::process();
  return std::max<int64_t>(ledger.cap() - ledger.held(), 0);
}

}  // namespace

const SharedLibrary& arrow_plugin() {
  const std::filesystem::path library =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib" /
      "libplimsoll_arrow.so";
  static const SharedLibrary plugin(
      library.string(),
      "table files need pyarrow 26: install it (pip install 'pyarrow==26.*') and repeat a "
      "build from source (make build), or pass tables from Python");
  return plugin;
}

void call_arrow(const std::function<int(const PlimsollArrowPool*, char*, int64_t)>& call) {
  constexpr PlimsollArrowPool kPool{take_for_arrow, give_from_arrow, allocate_for_arrow, release_from_arrow,
                                    free_for_arrow};
  std::array<char, 1024> error{};
  refusal.reset();
  if (call(&kPool, error.data(), static_cast<int64_t>(error.size())) == 0) return;
  throw_if_arrow_refused();
  throw InputError(error.data());
}

void throw_if_arrow_refused() {
  throw_if_interrupted("reading files of tables");
  if (!refusal) return;
  const BudgetExceeded refused = *std::exchange(refusal, std::nullopt);
  throw refused;
}

}  // namespace plimsoll
