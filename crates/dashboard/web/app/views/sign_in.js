// For whoever has no token here.
import { signInWith } from "../api.js";
import { html, useState } from "../html.js";
import { Failure } from "../parts.js";

export function SignIn() {
  const [given, setGiven] = useState("");
  const [error, setError] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    try {
      if (!(await signInWith(given))) setError("the token is not known");
    } catch (why) {
      setError(why);
    }
  };
  return html`<div class="sign-in">
    <h1>Bellwether</h1>
    <p class="lead">This scheduler asks who you are. On its machine, this opens the dashboard signed in:</p>
    <pre>bellwether open</pre>
    <p>Elsewhere, paste the token that you were given. It stays in this tab.</p>
    <form class="form" onSubmit=${submit}>
      <label>Token <input id="token" type="password" autocomplete="off" value=${given} onInput=${(event) => setGiven(event.target.value)} /></label>
      <button class="main" disabled=${!given.trim()}>Sign in</button>
    </form>
    <${Failure} error=${error} />
  </div>`;
}
