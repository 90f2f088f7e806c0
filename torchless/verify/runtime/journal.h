// What happens in a run, as one JSON object a line. Each line is written at once: an abort must not lose it.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace torchless {

// Where lines go from now on; -1 drops them.
void journal_to(int descriptor);

// One line: fields are added one by one, the end of its life writes it.
class Line {
 public:
  explicit Line(const char* event) { text("event", event); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line();
  Line& text(const char* key, std::string_view value);
  Line& number(const char* key, long long value);
  Line& flag(const char* key, bool value);
  Line& numbers(const char* key, const std::vector<long long>& values);
  Line& texts(const char* key, const std::vector<std::string>& values);
  Line& lists(const char* key, const std::vector<std::vector<std::string>>& values);
  // Says what went wrong; nothing when `value` is empty.
  Line& error(std::string_view value) { return value.empty() ? *this : text("error", value); }

 private:
  void key(const char* name);
  std::string body_;
};

}  // namespace torchless
