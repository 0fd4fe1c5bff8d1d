#include "codegen/printer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace ripeline::codegen {
namespace {

constexpr std::array kKeywords = {"alignas",       "alignof",     "and",
                                  "and_eq",        "asm",         "auto",
                                  "bitand",        "bitor",       "bool",
                                  "break",         "case",        "catch",
                                  "char",          "char16_t",    "char32_t",
                                  "char8_t",       "class",       "co_await",
                                  "co_return",     "co_yield",    "compl",
                                  "concept",       "const",       "const_cast",
                                  "consteval",     "constexpr",   "constinit",
                                  "continue",      "decltype",    "default",
                                  "delete",        "do",          "double",
                                  "dynamic_cast",  "else",        "enum",
                                  "explicit",      "export",      "extern",
                                  "false",         "float",       "for",
                                  "friend",        "goto",        "if",
                                  "inline",        "int",         "long",
                                  "mutable",       "namespace",   "new",
                                  "noexcept",      "not",         "not_eq",
                                  "nullptr",       "operator",    "or",
                                  "or_eq",         "private",     "protected",
                                  "public",        "register",    "reinterpret_cast",
                                  "requires",      "return",      "short",
                                  "signed",        "sizeof",      "static",
                                  "static_assert", "static_cast", "struct",
                                  "switch",        "template",    "this",
                                  "thread_local",  "throw",       "true",
                                  "try",           "typedef",     "typeid",
                                  "typename",      "union",       "unsigned",
                                  "using",         "virtual",     "void",
                                  "volatile",      "wchar_t",     "while",
                                  "xor",           "xor_eq"};

// Names that headers of the C library or common toolkits define as macros.
constexpr std::array kMacros = {"BUFSIZ",  "EOF",     "INFINITY", "INT_MAX", "INT_MIN",  "NAN",
                                "NULL",    "assert",  "emit",     "errno",   "foreach",  "i386",
                                "linux",   "major",   "makedev",  "minor",   "offsetof", "setjmp",
                                "signals", "slots",   "stderr",   "stdin",   "stdout",   "unix",
                                "va_arg",  "va_copy", "va_end",   "va_start"};

// By convention a macro, whoever defines it; a single letter is a task's notation.
bool in_capitals(const std::string& word) {
  return word.size() > 1 && std::all_of(word.begin(), word.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

[[noreturn]] void mistake(std::string_view what, std::string_view name) {
  std::fprintf(stderr, "ripeline: a bug in the generator: %.*s '%.*s'\n",
               static_cast<int>(what.size()), what.data(), static_cast<int>(name.size()),
               name.data());
  std::abort();
}

// `value`, its lines after the first indented by `column`; empty lines stay empty.
std::string indented(const std::string& value, std::size_t column) {
  std::string out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    out += value[i];
    if (value[i] == '\n' && i + 1 < value.size() && value[i + 1] != '\n') out.append(column, ' ');
  }
  return out;
}

class TemplateText {
 public:
  explicit TemplateText(const Holes& holes) : holes_(holes) {}

  std::string run(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const bool last = end == std::string_view::npos;
      line(text.substr(0, end), !last);
      text.remove_prefix(last ? text.size() : end + 1);
    }
    for (const auto& [name, value] : holes_) {
      if (!used_.contains(name)) mistake("no hole for", name);
    }
    return std::move(out_);
  }

 private:
  void line(std::string_view text, bool newline) {
    const std::size_t start = out_.size();
    bool dropped = false;
    for (std::size_t dollar = text.find('$'); dollar != std::string_view::npos;
         dollar = text.find('$')) {
      const std::size_t end = text.find('$', dollar + 1);
      if (end == std::string_view::npos) mistake("half a hole in", text);
      const std::string_view name = text.substr(dollar + 1, end - dollar - 1);
      const auto hole = holes_.find(name);
      if (hole == holes_.end()) mistake("no value for the hole", name);
      used_.insert(name);
      out_ += text.substr(0, dollar);
      const std::string_view before(out_.data() + start, out_.size() - start);
      const bool alone = before.find_first_not_of(' ') == std::string_view::npos;
      dropped = alone && hole->second.empty() && end + 1 == text.size();
      out_ += indented(hole->second, alone ? before.size() : 0);
      text.remove_prefix(end + 1);
    }
    out_ += text;
    if (dropped) {
      out_.resize(start);
    } else if (newline) {
      out_ += '\n';
    }
  }

  const Holes& holes_;
  std::set<std::string_view> used_;
  std::string out_;
};

}  // namespace

std::string fill(std::string_view text, const Holes& holes) {
  return TemplateText(holes).run(text);
}

std::string wrap(const std::vector<std::string>& items, std::size_t width) {
  std::string out;
  std::size_t column = 0;
  for (const std::string& item : items) {
    if (column > 0 && column + item.size() + 2 > width) {
      out += '\n';
      column = 0;
    }
    if (column > 0) out += ' ';
    column += item.size() + (column > 0 ? 2 : 1);
    out += item + ",";
  }
  return out;
}

std::string lines(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : "\n") + text;
  return out;
}

std::string paragraphs(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : "\n\n") + text;
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

bool is_taken(const std::string& name) {
  return std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end() ||
         std::find(kMacros.begin(), kMacros.end(), name) != kMacros.end();
}

std::string identifier(const std::string& name) {
  // `int` becomes `int_`, so `int_` becomes `int__`: no two names become one.
  const std::string word = name.substr(0, name.find_last_not_of('_') + 1);
  return is_taken(word) || in_capitals(word) ? name + "_" : name;
}

}  // namespace ripeline::codegen
