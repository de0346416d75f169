package policy

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/laxity-dev/laxity/sdk/budget"
)

func TestTheSDKReadsWhatIsWritten(t *testing.T) {
	limit, nonsense := 0.25, -1.0
	file := New(Window{From: "2026-03-01T00:00:00Z", To: "2026-03-08T00:00:00Z"}, 0.001)
	empty, err := file.Encode()
	if err != nil || !json.Valid(empty) || !bytes.Contains(empty, []byte(`"dependencies": []`)) {
		t.Fatalf("without dependencies: %s, %v", empty, err)
	}
	file.Dependencies = []Dependency{
		{Service: "shop", Stage: "<rank>", Terms: Terms{Observed: &limit}, Why: map[string]string{"observed_limit": "a & b"}},
		{Service: "shop", Stage: "load", Peer: "store", Terms: Terms{Observed: &limit}},
		{Service: "assistant", Stage: "ask", Terms: Terms{Cap: &limit}},
	}
	written, err := file.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var order struct {
		Dependencies []struct{ Service, Stage string }
	}
	if err := json.Unmarshal(written, &order); err != nil || order.Dependencies[0].Service != "assistant" || order.Dependencies[1].Stage != "<rank>" {
		t.Errorf("%+v, %v in\n%s", order, err, written)
	}
	if _, err := budget.ReadLimits(bytes.NewReader(written), "shop"); err != nil {
		t.Error(err)
	}
	file.Dependencies[0].Observed = &nonsense
	if written, err := file.Encode(); err == nil {
		t.Errorf("written though the sdk does not read it: %s", written)
	}
}
