#pragma once

#include <cstddef>
#include <string>

namespace plimsoll {

/// Installs a handler for the SIGBUS that the kernel raises if a mapped file is shortened while it is read,
/// or if its disk fails. The process then ends with exit code 3 and a sentence that names the file; the run
/// can continue from its last checkpoint. Only for programs: a library leaves the signal to the program that
/// uses it.
void report_lost_mappings();

/// An entry in the list of mapped files whose names the handler knows. If several hundred files are already
/// in the list, a further file gets no entry. Thread-safe.
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
