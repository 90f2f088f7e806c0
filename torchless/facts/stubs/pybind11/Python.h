#pragma once
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

typedef ssize_t Py_ssize_t;
typedef struct _object PyObject;
typedef struct _typeobject PyTypeObject;
typedef struct PyModuleDef PyModuleDef;
#define PyMODINIT_FUNC extern "C" __attribute__((visibility("default"))) PyObject*
extern "C" {
void Py_Initialize(void);
void Py_Finalize(void);
int Py_IsInitialized(void);
void Py_IncRef(PyObject*);
void Py_DecRef(PyObject*);
PyObject* PyImport_ImportModule(const char* name);
PyObject* PyObject_GetAttrString(PyObject* o, const char* name);
PyObject* PyObject_CallObject(PyObject* callable, PyObject* args);
void PyErr_SetString(PyObject* type, const char* message);
PyObject* PyErr_Occurred(void);
extern PyObject* PyExc_RuntimeError;
}
