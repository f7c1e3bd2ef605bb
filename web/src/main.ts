import { mount } from "svelte";
import App from "./App.svelte";
import "./app.css";
import "./classes.css";

mount(App, { target: document.getElementById("page") as HTMLElement });
