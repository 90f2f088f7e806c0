#include "journal.h"

#include <cerrno>
#include <cstdio>
#include <unistd.h>

namespace torchless {
namespace {

int& target() {
  static int descriptor = -1;
  return descriptor;
}

void quote(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte > 0x7e) {  // latin-1: bytes come back as they are
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
      out += escaped;
    } else {
      out += c;
    }
  }
  out += '"';
}

template <typename T, typename Add>
void list(std::string& out, const std::vector<T>& values, Add add) {
  out += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i) out += ',';
    add(out, values[i]);
  }
  out += ']';
}

}  // namespace

void journal_to(int descriptor) { target() = descriptor; }

Line::~Line() {
  if (target() < 0) return;
  body_ += "}\n";
  const char* from = body_.data();
  size_t left = body_.size();
  while (left) {
    const ssize_t done = ::write(target(), from, left);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) ::_exit(97);  // the disk is full or the reader is gone: half a journal would be taken for a whole one
    from += done;
    left -= static_cast<size_t>(done);
  }
}

void Line::key(const char* name) {
  body_ += body_.empty() ? '{' : ',';
  quote(body_, name);
  body_ += ':';
}

Line& Line::text(const char* name, std::string_view value) {
  key(name);
  quote(body_, value);
  return *this;
}

Line& Line::number(const char* name, long long value) {
  key(name);
  body_ += std::to_string(value);
  return *this;
}

Line& Line::flag(const char* name, bool value) {
  key(name);
  body_ += value ? "true" : "false";
  return *this;
}

Line& Line::numbers(const char* name, const std::vector<long long>& values) {
  key(name);
  list(body_, values, [](std::string& out, long long v) { out += std::to_string(v); });
  return *this;
}

Line& Line::texts(const char* name, const std::vector<std::string>& values) {
  key(name);
  list(body_, values, [](std::string& out, const std::string& v) { quote(out, v); });
  return *this;
}

Line& Line::lists(const char* name, const std::vector<std::vector<std::string>>& values) {
  key(name);
  list(body_, values, [](std::string& out, const std::vector<std::string>& inner) {
    list(out, inner, [](std::string& o, const std::string& v) { quote(o, v); });
  });
  return *this;
}

}  // namespace torchless
