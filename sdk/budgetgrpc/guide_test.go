package budgetgrpc_test

import (
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgetgrpc"
)

// What is between the snippet marks stands in docs/migrate.md; a test in sdk/adapters/routers compares.
func TestGuideSnippets(t *testing.T) {
	// snippet control
	control := budget.NewControl(budgetattr.ModeShadow)
	policy := budget.Policy{Default: 8 * time.Second, Max: 15 * time.Second, Control: control}
	// later, while the service runs:
	control.SetMode(budgetattr.ModeEnforce)
	// end snippet
	if err := policy.Validate(); err != nil || control.Mode() != budgetattr.ModeEnforce {
		t.Errorf("%v, mode %s", err, control.Mode())
	}

	const target = "passthrough:///127.0.0.1:1"
	credentials := grpc.WithTransportCredentials(insecure.NewCredentials())
	// snippet grpc
	server := grpc.NewServer(budgetgrpc.ServerOptions(budget.Policy{Default: 2 * time.Second, Max: 8 * time.Second, Trust: budget.TrustInternal})...)
	conn, err := grpc.NewClient(target, append(budgetgrpc.DialOptions(), credentials)...)
	// end snippet
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	defer conn.Close()
}
