#pragma once

#include <cstddef>
#include <string>

namespace plimsoll {

/// Handles SIGBUS of mapped files that are shortened while they are read, or whose disk fails. The process
/// then ends with exit code 3 and a sentence that names the file, so that a run can continue from its last
/// checkpoint. For programs; a library leaves the signal to its user.
void report_lost_mappings();

/// An entry in the list of mapped files that the sentence can name. Beyond the first few hundred files it
/// names none. Thread-safe.
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
