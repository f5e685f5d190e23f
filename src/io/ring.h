#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace plimsoll {

/// Reads and writes of files that are under way while their caller goes on, by io_uring. What is under way
/// uses memory of the caller's, who waits for it. Not thread-safe.
class Ring {
 public:
  /// For so many at a time; none where the kernel refuses.
  static std::unique_ptr<Ring> make(int entries);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Spares the kernel to look for the pages of this memory at each read, if it allows: there may be a limit
  /// on locked memory. From then on all reads go there.
  void keep_locked(std::byte* data, int64_t bytes);

  /// Has them done from the next submit() on. `id` is told when one is done. There is room for it.
  void read(int file, int64_t offset, std::byte* data, int64_t bytes, uint64_t id);
  void write(int file, int64_t offset, const std::byte* data, int64_t bytes, uint64_t id);
  /// Waits until so many are done, of those that are under way. 0, or what errno would be: the kernel takes
  /// no more then.
  int submit(int wait_for);
  /// Without the kernel's help, as submit() fails: waits until all that it has taken is done, of which next()
  /// tells. What it has not taken is never done, as long as nothing is submitted.
  void settle();

  struct Done {
    uint64_t id = 0;
    int64_t result = 0;  ///< bytes, or -errno
  };
  /// One that is done and was not told of, if there is one.
  std::optional<Done> next();

 private:
  struct State;
  explicit Ring(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
