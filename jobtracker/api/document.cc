// The description of the API, for programs and for people.
#include "jobtracker/api/document.h"

#include <array>
#include <memory>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/json_rows.h"

namespace carillon::jobtracker::api {
namespace {

std::string escaped(const std::string& text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '&':
        html += "&amp;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string in_capitals(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

std::string text_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

// "#/components/schemas/Job" as a link.
std::string schema_html(const Json& schema) {
  const std::string reference = text_at(schema, "$ref");
  if (!reference.empty()) {
    const std::string name = reference.substr(reference.rfind('/') + 1);
    return "<a href=\"#" + escaped(name) + "\">" + escaped(name) + "</a>";
  }
  if (schema.contains("items")) return "list of " + schema_html(schema["items"]);
  const auto type = schema.find("type");
  if (type == schema.end()) return "any";
  return escaped(type->is_string() ? type->get<std::string>() : type->dump());
}

std::string parameters_html(const Json& operation, const Json& document) {
  if (!operation.contains("parameters")) return {};
  std::string html = "<table><tr><th>Parameter</th><th>In</th><th>Meaning</th></tr>";
  for (const Json& given : operation["parameters"]) {
    const std::string reference = text_at(given, "$ref");
    const Json& parameter =
        reference.empty() ? given : document.at(Json::json_pointer(reference.substr(1)));
    html += "<tr><td><code>" + escaped(text_at(parameter, "name")) + "</code></td><td>" +
            escaped(text_at(parameter, "in")) + "</td><td>" +
            escaped(text_at(parameter, "description")) + "</td></tr>";
  }
  return html + "</table>";
}

std::string content_html(const Json& holder) {
  std::string html;
  if (!holder.contains("content")) return html;
  for (const auto& [type, media] : holder["content"].items()) {
    html += " <code>" + escaped(type) + "</code>";
    if (media.contains("schema")) html += " " + schema_html(media["schema"]);
  }
  return html;
}

std::string operation_html(const std::string& method, const std::string& path,
                           const Json& operation, const Json& document) {
  std::string html = "<h3><code>" + escaped(method) + " " + escaped(path) + "</code></h3><p>" +
                     escaped(text_at(operation, "summary")) + "</p>";
  html += parameters_html(operation, document);
  if (operation.contains("requestBody"))
    html += "<p>Body:" + content_html(operation["requestBody"]) + "</p>";
  html += "<ul>";
  for (const auto& [status, given] : operation["responses"].items()) {
    const std::string reference = text_at(given, "$ref");
    const Json& response =
        reference.empty() ? given : document.at(Json::json_pointer(reference.substr(1)));
    html += "<li>" + escaped(status) + " " + escaped(text_at(response, "description")) +
            content_html(response) + "</li>";
  }
  return html + "</ul>";
}

std::string schemas_html(const Json& document) {
  std::string html = "<h2>Schemas</h2>";
  for (const auto& [name, schema] : document["components"]["schemas"].items()) {
    html += "<h3 id=\"" + escaped(name) + "\">" + escaped(name) + "</h3><p>" +
            escaped(text_at(schema, "description")) + "</p>";
    if (!schema.contains("properties")) continue;
    html += "<table><tr><th>Field</th><th>Type</th><th>Meaning</th></tr>";
    for (const auto& [field, property] : schema["properties"].items()) {
      html += "<tr><td><code>" + escaped(field) + "</code></td><td>" + schema_html(property) +
              "</td><td>" + escaped(text_at(property, "description")) + "</td></tr>";
    }
    html += "</table>";
  }
  return html;
}

// The document as a page without scripts.
std::string page_of(const Json& document) {
  std::string html =
      "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Carillon HTTP "
      "API</title><meta name=\"viewport\" content=\"width=device-width\"><style>"
      "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
      "table{border-collapse:collapse}td,th{text-align:left;padding:.1rem .8rem .1rem 0;"
      "vertical-align:top}code{background:#8882;padding:0 .2rem}h3{margin-top:2rem}"
      ":root{color-scheme:light dark}</style></head><body><h1>Carillon HTTP API</h1><p>" +
      escaped(text_at(document["info"], "description")) +
      "</p><p>For programs: <a href=\"openapi.json\">openapi.json</a></p>";
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items())
      html += operation_html(in_capitals(method), path, operation, document);
  }
  return html + schemas_html(document) + "</body></html>";
}

void show_document(Api&, const ExchangePtr& exchange) {
  exchange->responder.send(
      {.content_type = "application/json", .body = std::string{openapi_document()}});
}

void show_docs(Api&, const ExchangePtr& exchange) {
  static const std::string page = page_of(Json::parse(openapi_document(), nullptr, false));
  exchange->responder.send(
      {.content_type = "text/html; charset=utf-8",
       .body = page,
       .headers = {{"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"}}});
}

constexpr std::array kDocumentRoutes{
    Route{"GET", "/openapi.json", show_document, Right::kAny},
    Route{"GET", "/docs", show_docs, Right::kAny},
};

}  // namespace

std::span<const Route> document_routes() { return kDocumentRoutes; }

}  // namespace carillon::jobtracker::api
