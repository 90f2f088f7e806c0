// What bindings use.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/embed.h>
namespace py = pybind11;
enum class Kind : int { A, B };
struct Thing { int n; Thing(int, const char*) {} int get() const { return n; } };
int add(int a, std::optional<int> b) { return a; }

//# module
PYBIND11_MODULE(module_x, m) {
  m.doc() = "text";
  m.def("add", &add, py::arg("a"), py::arg("b") = py::none(), "doc"); m.def("lambda", [](int a) { return a; }, py::arg("a") = 3);
  m.def("released", &add, py::call_guard<py::gil_scoped_release>());
  auto e = pybind11::enum_<Kind>(m, "Kind"); e.value("A", Kind::A).value("B", Kind::B).export_values(); e.def(pybind11::init([](int v) { return static_cast<Kind>(v); }));
  pybind11::implicitly_convertible<int, Kind>();
  py::class_<Thing, std::shared_ptr<Thing>>(m, "Thing").def(py::init<int, const char*>(), py::arg("a"), py::arg("b") = "x").def("get", &Thing::get).def_readwrite("n", &Thing::n).def_property_readonly("m", [](const Thing& t) { return t.n; });
}

//# objects
void f(py::object o, py::list l, py::dict d, py::bytes b) {
  py::gil_scoped_acquire lock; auto torch = py::module_::import("torch"); py::object r = torch.attr("empty")(3, py::arg("dtype") = o); int n = r.cast<int>() + py::cast<int>(o) + l.size(); l.append(n); std::string s = b; d["a"] = o; for (auto item : l) n += item.cast<int>(); py::tuple t = py::make_tuple(1, "a");
}
void g() { py::scoped_interpreter guard; py::array_t<float> a(3); float* p = a.mutable_data(); }
