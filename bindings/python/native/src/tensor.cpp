// Tensors as Python objects, and their values as NumPy arrays: a view where the host can reach the device's memory, else a copy.
#include "call.hpp"
#include "runtime/transfer.hpp"

namespace hexapla::native {

namespace {

using Sizes = std::vector<std::int64_t>;
using FloatArray = py::array_t<float, py::array::c_style>;

/// A query of a tensor: no lock, no ledger record.
template <class Result, class Ask>
Result query(const TensorOwner& self, Ask&& ask) {
  Result result;
  locked([&](hxp_error* error) {
    return guard(error, [&] {
      const Share<Tensor> tensor = share<Tensor>(self.id());
      tensor->context().admit(thread_id());
      result = ask(*tensor);
    });
  });
  return result;
}

Sizes list_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

Sizes shape_of(const TensorOwner& self) {
  return query<Sizes>(self, [](const Tensor& tensor) { return list_of(tensor.shape()); });
}

TensorOwner zeros(const ContextOwner& context, const Sizes& shape, std::int32_t dtype) {
  return make_on<Tensor>(context, HXP_OPERATION_TENSOR_CREATE, [&](CallScope& call, const Share<Context>&) {
    require_dtype(dtype);
    return call.tensor(checked_shape(static_cast<std::uint32_t>(shape.size()), shape.data()), Contents::zeros);
  });
}

TensorOwner from_host(const ContextOwner& context, const FloatArray& values) {
  const Sizes shape(values.shape(), values.shape() + values.ndim());
  return make_on<Tensor>(context, HXP_OPERATION_TENSOR_CREATE, [&](CallScope& call, const Share<Context>&) {
    const Share<Tensor> tensor = call.tensor(checked_shape(static_cast<std::uint32_t>(shape.size()), shape.data()));
    write(*tensor, values.data());
    return tensor;
  });
}

void write_host(const TensorOwner& self, const FloatArray& values) {
  const Sizes given(values.shape(), values.shape() + values.ndim());
  compute_on(self, HXP_OPERATION_TENSOR_WRITE, [&](CallScope&, const Share<Tensor>& tensor) {
    require(list_of(tensor->shape()) == given, "values have shape ", Shape(std::span(given)).text(), ", the tensor ", tensor->shape().text());
    require(!tensor->repeats(), "a view that repeats elements cannot be written");
    write(*tensor, values.data());
  });
}

FloatArray copy_out(const TensorOwner& self) {
  FloatArray out(shape_of(self));
  compute_on(self, HXP_OPERATION_TENSOR_READ, [&](CallScope&, const Share<Tensor>& tensor) { read(*tensor, out.mutable_data()); });
  return out;
}

/// The device's memory itself, if the host can reach it; the array's base holds a share of the storage.
py::object view_or_none(const TensorOwner& self) {
  Share<Tensor> seen;
  float* first = nullptr;
  compute_on(self, HXP_OPERATION_TENSOR_READ, [&](CallScope& call, const Share<Tensor>& tensor) {
    // A spilled storage is on the device only while a call lasts.
    if (tensor->storage()->spilled() || tensor->elements() == 0) return;
    first = reinterpret_cast<float*>(call.context().device().host_view(reinterpret_cast<std::byte*>(tensor->data())));
    seen = tensor;
  });
  if (!first) return py::none();
  Sizes strides = list_of(seen->strides());
  for (std::int64_t& stride : strides) stride *= static_cast<std::int64_t>(sizeof(float));
  const Sizes shape = list_of(seen->shape());
  Share<Storage> storage = seen->storage();
  const py::capsule base(storage.get(), [](void* held) { static_cast<Storage*>(held)->drop_share(); });
  storage.detach();
  return py::array_t<float>(shape, strides, first, base);
}

py::object view(const TensorOwner& self) {
  py::object array = view_or_none(self);
  if (!array.is_none()) return array;
  locked([](hxp_error* error) {
    return guard(error, [] { fail(HXP_UNSUPPORTED, "the host cannot reach the tensor's memory as it is; read it"); });
  });
  return array;
}

/// NumPy's protocol: a view if there can be one and no copy is asked for.
py::object as_array(const TensorOwner& self, const py::object& dtype, const std::optional<bool>& copy) {
  py::object array = copy == true ? py::none() : view_or_none(self);
  if (array.is_none()) {
    if (copy == false) return view(self);
    array = copy_out(self);
  }
  return dtype.is_none() ? array : array.attr("astype")(dtype, py::arg("copy") = false);
}

std::string digest_of(const TensorList& tensors) {
  std::string text;
  if (tensors.empty()) throw py::value_error("tensors must hold at least one tensor");
  compute_on(*tensors[0], HXP_OPERATION_TENSOR_DIGEST, [&](CallScope& call, const Share<Tensor>&) {
    std::vector<Share<Tensor>> shares;
    for (const TensorOwner* tensor : tensors) shares.push_back(call.argument<Tensor>(tensor->id(), "tensor"));
    text = digest(shares);
  });
  return text;
}

ContextOwner context_of(const TensorOwner& self) {
  std::uint64_t id = 0;
  locked([&](hxp_error* error) {
    return guard(error, [&] {
      const Share<Tensor> tensor = share<Tensor>(self.id());
      CallScope call(tensor->context(), HXP_OPERATION_TENSOR_CONTEXT, self.id(), Waits::no);
      call.perform([&] { id = call.publish(Share<Context>::of(&tensor->context())); });
    });
  });
  return {id, self.hook()};
}

}  // namespace

void define_tensor(py::module_& module) {
  using namespace py::literals;
  owned_class<Tensor>(module, "Tensor", "Device memory with a shape, f32. Owners and views share a storage.")
      .def_property_readonly("shape", [](const TensorOwner& self) { return py::tuple(py::cast(shape_of(self))); })
      .def_property_readonly("strides",
                             [](const TensorOwner& self) {
                               return py::tuple(py::cast(query<Sizes>(self, [](const Tensor& t) { return list_of(t.strides()); })));
                             })
      .def_property_readonly("elements",
                             [](const TensorOwner& self) {
                               return query<std::int64_t>(self, [](const Tensor& t) { return t.elements(); });
                             })
      .def_property_readonly("contiguous",
                             [](const TensorOwner& self) { return query<bool>(self, [](const Tensor& t) { return t.contiguous(); }); })
      .def_property_readonly("device",
                             [](const TensorOwner& self) {
                               return query<std::string>(self, [](const Tensor& t) {
                                 return t.storage()->spilled() ? std::string("host") : t.context().device_name();
                               });
                             })
      .def("context", &context_of, "A further owner of the tensor's context.")
      .def("write", &write_host, py::arg("values").noconvert(), "Set the values from a float32 array of the tensor's shape.")
      .def("read", &copy_out, "The values, copied to a new array.")
      .def("view", &view, "The values where they lie, as an array that keeps their memory alive.")
      .def("__array__", &as_array, "dtype"_a = py::none(), "copy"_a = py::none())
      .def("fill",
           [](const TensorOwner& self, double value) {
             compute_on(self, HXP_OPERATION_TENSOR_FILL,
                        [&](CallScope& call, const Share<Tensor>& t) { fill(call, *t, static_cast<float>(value)); });
           },
           "value"_a)
      .def("add_in_place",
           [](const TensorOwner& self, double value) {
             compute_on(self, HXP_OPERATION_TENSOR_ADD_IN_PLACE, [&](CallScope& call, const Share<Tensor>& t) {
               require(!t->repeats(), "a view that repeats elements cannot be added to");
               add_in_place(call, *t, static_cast<float>(value));
             });
           },
           "value"_a);
  module.attr("F32") = +HXP_DTYPE_F32;
  module.attr("F16") = +HXP_DTYPE_F16;
  module.attr("BF16") = +HXP_DTYPE_BF16;
  module.def("zeros", &zeros, "context"_a, "shape"_a, "dtype"_a = +HXP_DTYPE_F32, "A tensor of zeros.");
  module.def("tensor", &from_host, "context"_a, py::arg("values").noconvert(), "A tensor with the values of a float32 array.");
  module.def("digest", &digest_of, "tensors"_a, "SHA-256 of the values of all tensors, one after the other, as hex.");
}

}  // namespace hexapla::native
