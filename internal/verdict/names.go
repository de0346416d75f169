package verdict

import (
	"cmp"
	"strings"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Names are the attributes that name a span's route, stage and peer, for those who have no span.Span. Absent is empty.
type Names struct {
	Kind                                                                     span.Kind
	Name, Stage                                                              string
	HTTPRoute, RPCMethod, RPCService                                         string
	PeerService, ServerAddress, NetPeer, Destination, DBSystemName, DBSystem string
}

// Route names the route of an entry: http.route, else the RPC's service and method, else the span's name with ids replaced by
// {id}.
func (n *Names) Route() string {
	switch {
	case n.HTTPRoute != "":
		return n.HTTPRoute
	case n.RPCMethod == "":
		return template(n.Name)
	case n.RPCService == "" || strings.Contains(n.RPCMethod, "/"):
		return n.RPCMethod
	}
	return n.RPCService + "/" + n.RPCMethod
}

// StageOrName names the stage of a hop: deadline.stage, else the span's name.
func (n *Names) StageOrName() string { return cmp.Or(n.Stage, n.Name) }

// Peer names what a span calls as far as the span itself tells: peer.service, else the address, queue or kind of database
// it called. The addresses on a server's span are its own. Where the called side left a span, that span's service is the
// better name.
func (n *Names) Peer() string {
	if n.Kind == span.KindServer {
		return n.PeerService
	}
	return cmp.Or(n.PeerService, n.ServerAddress, n.NetPeer, n.Destination, n.DBSystemName, n.DBSystem)
}

// RouteOf names the route of an entry; see Names.
func RouteOf(s *span.Span) string {
	n := Names{Name: s.Name, HTTPRoute: s.Attrs.String("http.route")}
	if n.HTTPRoute == "" {
		if n.RPCMethod = s.Attrs.String("rpc.method"); n.RPCMethod != "" {
			n.RPCService = s.Attrs.String("rpc.service")
		}
	}
	return n.Route()
}

// StageOf names the stage of a hop; see Names.
func StageOf(s *span.Span) string {
	return cmp.Or(s.Attrs.String(budgetattr.StageKey), s.Name)
}

// PeerOf names what a span calls; see Names.
func PeerOf(s *span.Span) string {
	if s.Kind == span.KindServer {
		return s.Attrs.String("peer.service")
	}
	for _, key := range [...]string{"peer.service", "server.address", "net.peer.name", "messaging.destination.name", "db.system.name", "db.system"} {
		if peer := s.Attrs.String(key); peer != "" {
			return peer
		}
	}
	return ""
}

// template replaces the parts of a name that are ids.
func template(name string) string {
	if !strings.ContainsAny(name, "0123456789") {
		return name
	}
	words := strings.Split(name, " ")
	for i, word := range words {
		parts := strings.Split(word, "/")
		for j, part := range parts {
			if isID(part) {
				parts[j] = "{id}"
			}
		}
		words[i] = strings.Join(parts, "/")
	}
	return strings.Join(words, " ")
}

// isID: a number, or at least 8 characters of hex digits, dashes and at least one decimal digit, as in a UUID or a hash.
func isID(part string) bool {
	digits, hex := 0, 0
	for _, c := range part {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f', c >= 'A' && c <= 'F', c == '-':
			hex++
		default:
			return false
		}
	}
	return digits > 0 && (hex == 0 || digits+hex >= 8)
}
