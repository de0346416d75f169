package listen

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
)

// Two of the ports that `up` found free were the same one.
func TestIssueFreePortsDiffer(t *testing.T) {
	for range 200 {
		addresses := make([]string, 8)
		byFlag := map[string]*string{}
		for i := range addresses {
			addresses[i] = "127.0.0.1:0"
			byFlag[fmt.Sprint("flag-", i)] = &addresses[i]
		}
		if err := FreePorts(byFlag); err != nil {
			t.Fatal(err)
		}
		slices.Sort(addresses)
		if slices.Contains(addresses, "127.0.0.1:0") || len(slices.Compact(addresses)) != len(byFlag) {
			t.Fatalf("not 8 ports: %q", addresses)
		}
	}
	same, again := "127.0.0.1:15999", "127.0.0.1:15999"
	if err := FreePorts(map[string]*string{"a": &same, "b": &again}); err == nil {
		t.Error("one port was given to two flags")
	}
}

func TestFreePort(t *testing.T) {
	got, err := FreePort("listen", "127.0.0.1:0")
	if err != nil || strings.HasSuffix(got, ":0") {
		t.Errorf("%q, %v", got, err)
	}
	if again, err := FreePort("listen", got); err != nil || again != got {
		t.Errorf("a port that was named: %q, %v", again, err)
	}
	taken, err := net.Listen("tcp", got)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := FreePort("otlp-grpc", got); err == nil || !strings.Contains(err.Error(), "--otlp-grpc "+got+" is taken") {
		t.Errorf("a port that is taken: %v", err)
	}
}
