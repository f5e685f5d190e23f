#pragma once

#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.h"
#include "loader/batch_maker.h"
#include "loader/batch_stream.h"

namespace plimsoll {

/// A tensor over a buffer, which it owns, or a NumPy array, which does not need torch.
nb::object batch_tensor(BatchBuffer buffer, const std::vector<int64_t>& shape, bool is_float, bool numpy);

/// The tensors of a batch by name; `fields` selects them.
template <typename Fields>
nb::dict tensors_of(CollatedBatch batch, const Fields& fields, bool numpy = false) {
  nb::dict tensors;
  for (int i = 0; i < Fields::kCount; ++i) {
    const auto field = static_cast<typename Fields::Field>(i);
    if (fields.has(field))
      tensors[Fields::name(field)] = batch_tensor(std::move(batch[field]), fields.shape(field, batch.counts),
                                                  fields.is_float(field), numpy);
  }
  return tensors;
}

/// The tensors of the next batch, which must exist: the caller counts.
template <typename Fields>
nb::dict next_tensors(BatchStream& stream, const Fields& fields, bool numpy) {
  std::optional<CollatedBatch> batch;
  {
    const nb::gil_scoped_release released;
    batch = stream.next();
  }
  if (!batch) throw nb::stop_iteration();
  return tensors_of(std::move(*batch), fields, numpy);
}

}  // namespace plimsoll
