// Package api answers the questions of the page and the command line over HTTP. A handler validates, asks storage once and
// shapes the answer; openapi.yaml is the contract, and a test holds routes and real answers to it.
package api

import _ "embed"

// openapi is the description served at /api/v1/openapi.yaml.
//
//go:embed openapi.yaml
var openapi []byte
