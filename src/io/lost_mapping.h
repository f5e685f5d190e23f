#pragma once

#include <cstddef>
#include <string>

namespace plimsoll {

/// From now on a mapped file that is made shorter while it is read, or whose disk fails, ends the process
/// with exit code 3 and a sentence that names the file, in place of SIGBUS: a run can go on from its last
/// checkpoint. For programs; a library leaves the signal to its user.
void report_lost_mappings();

/// A place among the mapped files that can be named so; files beyond the first few hundred are ended without
/// a name. Thread-safe.
class MappingPlace {
 public:
  MappingPlace() = default;
  MappingPlace(const void* data, size_t bytes, const std::string& path);
  ~MappingPlace();
  MappingPlace(MappingPlace&& other) noexcept { *this = static_cast<MappingPlace&&>(other); }
  MappingPlace& operator=(MappingPlace&& other) noexcept;

 private:
  int place_ = -1;
};

}  // namespace plimsoll
