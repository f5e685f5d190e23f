#include "nn/learned_rows.h"

#include <c10/core/GradMode.h>

#include "base/error.h"
#include "nn/stored_rows.h"
#include "ops/embedding/embedding.h"

namespace plimsoll {
namespace {

thread_local LearnedRowsScope* current_scope = nullptr;

}  // namespace

LearnedRowsScope::LearnedRowsScope() {
  if (current_scope != nullptr) throw Failure("LearnedRowsScope was nested");
  current_scope = this;
}

LearnedRowsScope::~LearnedRowsScope() {
  current_scope = nullptr;
}

std::vector<at::Tensor> LearnedRowsScope::leaves(std::vector<at::Tensor> parameters) const {
  if (found_.table.defined())
    for (at::Tensor& parameter : parameters)
      if (parameter.is_same(found_.table)) parameter = found_.rows;
  return parameters;
}

at::Tensor learned_rows(const ParameterList::Entry& table, const at::Tensor& ids) {
  StoredRows* const stored = table.stored;
  if (current_scope == nullptr || !c10::GradMode::is_enabled())
    return stored != nullptr ? stored->read(ids) : embedding_rows(table.value, ids);
  LearnedRows& found = current_scope->found_;
  if (found.table.defined()) throw Failure("a block looked up learned rows twice");
  const at::Tensor places = stored != nullptr ? stored->hold(ids) : ids;
  found = {table.value, places, embedding_rows(table.value.detach(), places).requires_grad_()};
  return found.rows;
}

}  // namespace plimsoll
