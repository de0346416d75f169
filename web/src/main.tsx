import "./styles/fonts.css";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/overview.css";
import "./styles/search.css";
import "./styles/trace.css";
import "./styles/report.css";
import "./styles/charts.css";
import "./styles/alerts.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { lazy, StrictMode, Suspense, type ComponentType } from "react";
import { createRoot } from "react-dom/client";
import { Route, Router, Switch } from "wouter";
import { useSearch } from "wouter/use-browser-location";
import { retry } from "./api/queries.ts";
import { Shell } from "./components/Shell.tsx";
import { Loading } from "./components/States.tsx";
import { NotFound } from "./pages/NotFound.tsx";
import { Overview } from "./pages/Overview.tsx";

// The overview comes with the first transfer, every other page when it is asked for.
const page = <Props,>(load: () => Promise<ComponentType<Props>>) => lazy(async () => ({ default: await load() }));
const Advice = page(async () => (await import("./pages/Advice.tsx")).Advice);
const Search = page(async () => (await import("./pages/Search.tsx")).Search);
const TracePage = page(async () => (await import("./pages/TracePage.tsx")).TracePage);
const RoutePage = page(async () => (await import("./pages/RoutePage.tsx")).RoutePage);
const Alerts = page(async () => (await import("./pages/Alerts.tsx")).Alerts);
const Findings = page(async () => (await import("./pages/Findings.tsx")).Findings);
const Stages = page(async () => (await import("./pages/Stages.tsx")).Stages);
const Dependencies = page(async () => (await import("./pages/Dependencies.tsx")).Dependencies);
const Phases = page(async () => (await import("./pages/Phases.tsx")).Phases);
const Local = page(async () => (await import("./pages/Local.tsx")).Local);
const Orphans = page(async () => (await import("./pages/Orphans.tsx")).Orphans);
const Cancellations = page(async () => (await import("./pages/Cancellations.tsx")).Cancellations);
const Retries = page(async () => (await import("./pages/Retries.tsx")).Retries);
const Changes = page(async () => (await import("./pages/Changes.tsx")).Changes);
const Reserves = page(async () => (await import("./pages/Reserves.tsx")).Reserves);
const Conformance = page(async () => (await import("./pages/Conformance.tsx")).Conformance);
const Limits = page(async () => (await import("./pages/Limits.tsx")).Limits);
const Propagation = page(async () => (await import("./pages/Propagation.tsx")).Propagation);

// wouter decodes the query before URLSearchParams does, which would make /a%2Fb another name. Encoded once more it survives that.
const useEncodedSearch = () => useSearch().replaceAll("%", "%25");

const queries = new QueryClient({ defaultOptions: { queries: { retry, refetchOnWindowFocus: true, staleTime: 10_000 } } });

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Router searchHook={useEncodedSearch}>
        <Shell>
          <Suspense fallback={<Loading what="the page" rows={8} />}>
            <Switch>
              <Route path="/" component={Overview} />
              <Route path="/search" component={Search} />
              <Route path="/route" component={RoutePage} />
              <Route path="/alerts" component={Alerts} />
              <Route path="/findings" component={Findings} />
              <Route path="/stages" component={Stages} />
              <Route path="/dependencies" component={Dependencies} />
              <Route path="/phases" component={Phases} />
              <Route path="/advice" component={Advice} />
              <Route path="/local" component={Local} />
              <Route path="/orphans" component={Orphans} />
              <Route path="/cancellations" component={Cancellations} />
              <Route path="/retries" component={Retries} />
              <Route path="/propagation" component={Propagation} />
              <Route path="/changes" component={Changes} />
              <Route path="/reserves" component={Reserves} />
              <Route path="/conformance" component={Conformance} />
              <Route path="/limits" component={Limits} />
              <Route path="/traces/:id">{({ id }) => <TracePage key={id} id={id.toLowerCase()} />}</Route>
              <Route component={NotFound} />
            </Switch>
          </Suspense>
        </Shell>
      </Router>
    </QueryClientProvider>
  </StrictMode>,
);
