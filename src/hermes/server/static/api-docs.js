// Shows the gateway's own description of its API; nothing comes from elsewhere.
SwaggerUIBundle({
  url: "/api/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  validatorUrl: null,
});
