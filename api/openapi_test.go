package api

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// loadContract parses openapi.yaml and checks that it is a valid description.
func loadContract(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openapi)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// The golden answers are the fixtures of the page's tests, so they have to follow the contract.
func TestGoldenAnswersFollowTheContract(t *testing.T) {
	doc := loadContract(t)
	for name, schema := range map[string]string{
		"health": "Health", "incident": "Incident", "margin": "MarginReport", "problem": "Problem",
		"services": "ServiceList", "statement": "Statement", "trace": "Trace", "traces": "TraceSearch",
	} {
		data, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(data, &value); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := doc.Components.Schemas[schema].Value.VisitJSON(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
