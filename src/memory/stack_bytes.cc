#include "memory/stack_bytes.h"

#include <pthread.h>

#include "base/units.h"

namespace plimsoll {

int64_t stack_bytes() {
  pthread_attr_t attributes;
  size_t bytes = 8 * kMiB;
  if (pthread_attr_init(&attributes) != 0) return static_cast<int64_t>(bytes);
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return static_cast<int64_t>(bytes);
}

}  // namespace plimsoll
