import "./styles/fonts.css";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/overview.css";
import "./styles/search.css";
import "./styles/trace.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Route, Switch } from "wouter";
import { retry } from "./api/queries.ts";
import { Shell } from "./components/Shell.tsx";
import { NotFound } from "./pages/NotFound.tsx";
import { Overview } from "./pages/Overview.tsx";
import { Search } from "./pages/Search.tsx";
import { TracePage } from "./pages/TracePage.tsx";

const queries = new QueryClient({ defaultOptions: { queries: { retry, refetchOnWindowFocus: true, staleTime: 10_000 } } });

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Shell>
        <Switch>
          <Route path="/" component={Overview} />
          <Route path="/search" component={Search} />
          <Route path="/traces/:id">{({ id }) => <TracePage key={id} id={id.toLowerCase()} />}</Route>
          <Route component={NotFound} />
        </Switch>
      </Shell>
    </QueryClientProvider>
  </StrictMode>,
);
